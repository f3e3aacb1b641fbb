"""Users of the web page: a file of names, roles and scrypt hashes that only its owner can read."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

from clusterwright.edge.files import write_file_atomic
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.file_arguments import read_argument
from clusterwright.i18n import _, _n

ROLES = ("viewer", "user", "operator")  # each role includes the rights of those before it
SHORTEST, LONGEST = 10, 256
# 32 MiB and about 0.1 s per attempt: r and p of RFC 7914, N as high as a control host can afford a few times a second.
_N, _R, _P = 2**15, 8, 1
_MEMORY = 64 * 2**20
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}")


@dataclass(frozen=True, slots=True)
class WebUser:
    """A user who may sign in; for the role `user` the name is the Slurm user name."""

    name: str
    role: str
    salt: bytes
    hashed: bytes

    def check_password(self, password: str) -> bool:
        """Return whether the password is that of the user."""
        return hmac.compare_digest(_hash(password, self.salt), self.hashed)


# Compared with for an unknown name, so that the check takes as long as for a known one.
DUMMY_USER = WebUser("", "viewer", b"\0" * 16, b"\0" * 32)


def _hash(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(
        password.encode("utf-8", "surrogatepass"), salt=salt, n=_N, r=_R, p=_P, maxmem=_MEMORY, dklen=32
    )


def create_user(name: str, role: str, password: str) -> WebUser:
    """Return a user with a hashed password and a new salt; it is not saved.

    Raises:
        WrightError: the name, the role or the password is not allowed.
    """
    if not _NAME.fullmatch(name):
        raise WrightError.from_code(
            "web-user",
            _("`{name}` is not a user name", name=name),
            _("use the Slurm user name, for example ann"),
            exit_code=EXIT_USAGE,
        )
    if role not in ROLES:
        raise WrightError.from_code(
            "web-user",
            _("no role has the name `{role}`", role=role),
            _("use one of {roles}", roles=", ".join(ROLES)),
            exit_code=EXIT_USAGE,
        )
    if not SHORTEST <= len(password) <= LONGEST:
        raise WrightError.from_code(
            "web-user",
            _n("the password has {count} character", "the password has {count} characters", len(password)),
            _("use {shortest} to {longest} characters", shortest=SHORTEST, longest=LONGEST),
            exit_code=EXIT_USAGE,
        )
    salt = secrets.token_bytes(16)
    return WebUser(name, role, salt, _hash(password, salt))


class Users:
    """The file of users, read again when it changes, so that a removed user loses access at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: tuple[int, int, int] | None = None
        self._users: dict[str, WebUser] = {}

    def all(self) -> dict[str, WebUser]:
        """Return all users by name, read again if the file changed; none without the file.

        Raises:
            WrightError: others can read the file, or it is damaged.
        """
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            self._stamp, self._users = None, {}
            return {}
        stamp = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        if stamp != self._stamp:
            if stat.st_mode & 0o077:
                raise self._unusable(
                    _(
                        "{path} has mode {mode:04o}: others can read it",
                        path=self.path,
                        mode=stat.st_mode & 0o777,
                    ),
                    _("run `chmod 600 {path}`", path=self.path),
                )
            self._users, self._stamp = self._read(), stamp
        return self._users

    def _read(self) -> dict[str, WebUser]:
        try:
            rows = json.loads(read_argument(self.path))["users"]
            return {
                name: WebUser(name, row["role"], _bytes(row["salt"]), _bytes(row["scrypt"]))
                for name, row in rows.items()
                if row["role"] in ROLES
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._unusable(
                _("{path} cannot be parsed: {error}", path=self.path, error=error),
                _("repair the file, or delete it and add the users again"),
            ) from error

    def set_user(self, user: WebUser) -> None:
        """Add a user to the file, or replace the user of that name."""
        self._write({**self.all(), user.name: user})

    def remove(self, name: str) -> bool:
        """Remove a user from the file of users; return True if there was one of that name."""
        users = self.all()
        self._write({user_name: user for user_name, user in users.items() if user_name != name})
        return name in users

    def _write(self, users: dict[str, WebUser]) -> None:
        rows = {
            user.name: {"role": user.role, "salt": _text(user.salt), "scrypt": _text(user.hashed)}
            for user in users.values()
        }
        write_file_atomic(self.path, json.dumps({"schema": 1, "users": rows}, indent=2) + "\n", mode=0o600)
        self._stamp = None

    def _unusable(self, problem: str, fix: str) -> WrightError:
        return WrightError.from_code("web-users-file", problem, fix)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
