"""Sessions, and rate limits of wrong passwords."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network

from clusterwright.edge.clock import Clock
from clusterwright.monitor.web.users import DUMMY_USER, Users, WebUser

IDLE_S, LONGEST_S = 4 * 3600, 24 * 3600
MOST = 2000  # sessions; the least recently used one ends
MAX_PER_ACCOUNT = 20  # sessions of one account; the least recently used one ends
FREE_ATTEMPTS, FIRST_PAUSE_S, LONGEST_PAUSE_S = 5, 2.0, 300.0
_MOST_WATCHED = 4096  # accounts and addresses with counts of wrong passwords
_LONGEST_NAME = 64


@dataclass(slots=True)
class Session:
    """A session; `token` proves that a request for data or a change comes from the page itself.

    Browsers send a cookie to every port of its host. The token is only in the fragment of the address that a sign-in
    leads to, and the page keeps it in the storage of its origin, which other ports cannot read.
    """

    name: str
    token: str
    hashed: bytes  # hash of the password at sign-in; another password ends the session
    created_at: float
    used: float


class Sessions:
    """All sessions, only in memory: a restart ends them. Cookies are stored as hashes."""

    def __init__(self, users: Users, clock: Clock) -> None:
        self._users, self._clock = users, clock
        self._by_key: dict[bytes, Session] = {}

    def begin(self, user: WebUser) -> tuple[str, Session]:
        """Begin a session of the user, and return its secret cookie and the session.

        At the limit of the account, else of all, the session that was unused for longest ends.
        """
        cookie, now = secrets.token_urlsafe(32), self._clock.monotonic()
        account_keys = [key for key, session in self._by_key.items() if session.name == user.name]
        if len(account_keys) >= MAX_PER_ACCOUNT or len(self._by_key) >= MOST:
            keys = account_keys if len(account_keys) >= MAX_PER_ACCOUNT else self._by_key
            del self._by_key[min(keys, key=lambda key: self._by_key[key].used)]
        session = Session(user.name, secrets.token_urlsafe(32), user.hashed, now, now)
        self._by_key[_key(cookie)] = session
        return cookie, session

    def find(self, cookie: str) -> tuple[Session, WebUser] | None:
        """Return the session of a cookie and its user, as the file of users has them now, and note the time of use.

        None if it ended. It ends when unused for IDLE_S, after LONGEST_S, and with a new password or without the user.
        """
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
        """End the session that a cookie identifies; nothing happens if there is none."""
        self._by_key.pop(_key(cookie), None)


def _key(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode("utf-8", "replace")).digest()


def _proof(user: WebUser, number: str) -> str:
    return hmac.new(user.hashed, f"browser\0{user.name}\0{number}".encode(), hashlib.sha256).hexdigest()


@dataclass(slots=True)
class _Attempts:
    failed: int
    retry_at: float  # no attempt is allowed before
    last: float


class PasswordChecker:
    """Checks passwords, with a growing delay after wrong ones.

    Attempts are refused by account and address together, so that nobody's wrong passwords keep others out. The count
    of an address only changes the response to its next wrong passwords, whether the name exists or not.
    """

    def __init__(self, users: Users, clock: Clock) -> None:
        self._users, self._clock = users, clock
        self._attempts: dict[tuple[str, str], _Attempts] = {}

    def wait_s(self, name: str, address: str) -> float:
        """Return the seconds until the next attempt on this account from this address is allowed; 0: now."""
        return self._pause_s((name[:_LONGEST_NAME], network(address)))

    def address_wait_s(self, address: str) -> float:
        """Return the seconds that this address must wait after wrong passwords on any account; 0: it need not wait."""
        return self._pause_s(("", network(address)))

    def _pause_s(self, key: tuple[str, str]) -> float:
        attempts = self._attempts.get(key)
        return max(0.0, attempts.retry_at - self._clock.monotonic()) if attempts else 0.0

    def attempt_source(self, name: str, address: str, cookie: str) -> str:
        """Return the key that attempts count under: a browser that has signed in to the account, else the address.

        All users of one host, and all behind a tunnel, are one address: none may keep a known browser out.
        """
        user = self._users.all().get(name)
        number, _, proof = cookie.partition(".")
        is_valid = user is not None and hmac.compare_digest(proof.encode(), _proof(user, number).encode())
        return f"browser {number}" if is_valid else address

    def browser_cookie(self, user: WebUser) -> str:
        """Return the cookie that `attempt_source` recognizes; a new password ends it, and it grants no access."""
        number = secrets.token_urlsafe(16)
        return f"{number}.{_proof(user, number)}"

    def opens(self, name: str, password: str, address: str) -> WebUser | None:
        """Check a password: return the user if it is right, else count an attempt for name and address and return None.

        It does not enforce waits (see `wait_s`); an unknown name takes as long as a known one. A right password clears
        the account's attempts.
        """
        user = self._users.all().get(name)
        is_correct = (user or DUMMY_USER).check_password(password)
        key = (name[:_LONGEST_NAME], network(address))
        if user is not None and is_correct:
            self._attempts.pop(key, None)
            return user
        self._failed(key)
        self._failed(("", network(address)))
        return None

    def _failed(self, key: tuple[str, str]) -> None:
        now = self._clock.monotonic()
        attempts = self._attempts.get(key) or _Attempts(0, now, now)
        if now - attempts.last > 2 * LONGEST_PAUSE_S:
            attempts = _Attempts(0, now, now)
        over = attempts.failed + 1 - FREE_ATTEMPTS
        pause = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(over, 16)) if over >= 0 else 0.0
        if len(self._attempts) >= _MOST_WATCHED and key not in self._attempts:
            self._drop_count(now)
        self._attempts[key] = _Attempts(attempts.failed + 1, now + pause, now)

    def _drop_count(self, now: float) -> None:
        """Forget an expired count, else the lowest: attempts on many names must not reset the count of one."""

        def worth(key: tuple[str, str]) -> tuple[bool, int, float]:
            attempts = self._attempts[key]
            return now - attempts.last <= 2 * LONGEST_PAUSE_S, attempts.failed, attempts.last

        del self._attempts[min(self._attempts, key=worth)]


def network(address: str) -> str:
    """Return the unit in which addresses are counted: an IPv4 address, or the /64 of an IPv6 address.

    Other text unchanged.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped or ip_network((int(parsed) >> 64 << 64, 64)))
    return address
