"""Sessions, and rate limits of wrong passwords."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from clusterwright.edge.clock import Clock
from clusterwright.monitor.web.users import DUMMY_USER, Users, WebUser

IDLE_S, LONGEST_S = 4 * 3600, 24 * 3600
MOST = 2000  # sessions; the least recently used one ends
FREE_ATTEMPTS, FIRST_PAUSE_S, LONGEST_PAUSE_S = 5, 2.0, 300.0
_MOST_WATCHED = 4096  # addresses and names whose failed attempts are counted


@dataclass(slots=True)
class Session:
    """A session; `token` proves that a request comes from the page itself.

    Browsers send a cookie to every port of its host. The token is only in the fragment of the address that a sign-in
    leads to, and the page keeps it in the storage of its origin, which other ports cannot read.
    """

    name: str
    token: str
    hashed: bytes  # of the password at sign-in; another password ends the session
    created_at: float
    used: float


class Sessions:
    """All sessions, only in memory: a restart ends them. Cookies are stored as hashes."""

    def __init__(self, users: Users, clock: Clock) -> None:
        self._users, self._clock = users, clock
        self._by_key: dict[bytes, Session] = {}

    def begin(self, user: WebUser) -> tuple[str, Session]:
        """Begin a session and return its cookie and the session."""
        cookie, now = secrets.token_urlsafe(32), self._clock.monotonic()
        while len(self._by_key) >= MOST:
            del self._by_key[min(self._by_key, key=lambda key: self._by_key[key].used)]
        session = Session(user.name, secrets.token_urlsafe(32), user.hashed, now, now)
        self._by_key[_key(cookie)] = session
        return cookie, session

    def find(self, cookie: str) -> tuple[Session, WebUser] | None:
        """The session of a cookie and its user, as the file of users has them now; None if it has ended."""
        session = self._by_key.get(_key(cookie)) if cookie else None
        if session is None:
            return None
        now, user = self._clock.monotonic(), self._users.all().get(session.name)
        over = now - session.used > IDLE_S or now - session.created_at > LONGEST_S
        if over or user is None or user.hashed != session.hashed:
            self.end(cookie)
            return None
        session.used = now
        return session, user

    def end(self, cookie: str) -> None:
        """End the session of a cookie."""
        self._by_key.pop(_key(cookie), None)


def _key(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode("utf-8", "replace")).digest()


@dataclass(slots=True)
class _Attempts:
    failed: int
    retry_at: float  # no attempt before
    last: float


class Door:
    """Checks passwords, with a growing delay after wrong ones, by name and by address."""

    def __init__(self, users: Users, clock: Clock) -> None:
        self._users, self._clock = users, clock
        self._attempts: dict[str, _Attempts] = {}

    def wait_s(self, name: str, address: str) -> float:
        """Seconds until the next attempt is allowed."""
        now = self._clock.monotonic()
        return max(
            [
                0.0,
                *(
                    attempts.retry_at - now
                    for key in _keys(name, address)
                    if (attempts := self._attempts.get(key))
                ),
            ]
        )

    def opens(self, name: str, password: str, address: str) -> WebUser | None:
        """The user, if the password is right; unknown names take as long."""
        user = self._users.all().get(name)
        is_correct = (user or DUMMY_USER).check_password(password)
        if user is not None and is_correct:
            for key in _keys(name, address):
                self._attempts.pop(key, None)
            return user
        for key in _keys(name, address):
            self._failed(key)
        return None

    def _failed(self, key: str) -> None:
        now = self._clock.monotonic()
        attempts = self._attempts.get(key) or _Attempts(0, now, now)
        if now - attempts.last > 2 * LONGEST_PAUSE_S:
            attempts = _Attempts(0, now, now)
        over = attempts.failed + 1 - FREE_ATTEMPTS
        pause = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(over, 16)) if over >= 0 else 0.0
        if len(self._attempts) >= _MOST_WATCHED and key not in self._attempts:
            del self._attempts[min(self._attempts, key=lambda entry_key: self._attempts[entry_key].last)]
        self._attempts[key] = _Attempts(attempts.failed + 1, now + pause, now)


def _keys(name: str, address: str) -> tuple[str, str]:
    return f"name {name[:64]}", f"address {address}"
