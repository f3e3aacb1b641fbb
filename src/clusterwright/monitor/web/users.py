"""Who may sign in, as what: a file of names, roles and scrypt hashes that its owner alone can read."""

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
from clusterwright.i18n import _

ROLES = ("viewer", "user", "operator")  # each may do what those before it may
SHORTEST, LONGEST = 10, 256
# 32 MiB and about 0.1 s for each try: RFC 7914's r and p, N as high as a control host can bear a few times a second.
_N, _R, _P = 2**15, 8, 1
_MEMORY = 64 * 2**20
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}")


@dataclass(frozen=True, slots=True)
class User:
    """One who may sign in; a user's name is also the name under which Slurm knows their jobs."""

    name: str
    role: str
    salt: bytes
    hashed: bytes

    def check_password(self, password: str) -> bool:
        """True for the password."""
        return hmac.compare_digest(_hash(password, self.salt), self.hashed)


DUMMY_USER = User(
    "", "viewer", b"\0" * 16, b"\0" * 32
)  # whom an unknown name is compared with, so that it takes as long


def _hash(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(
        password.encode("utf-8", "surrogatepass"), salt=salt, n=_N, r=_R, p=_P, maxmem=_MEMORY, dklen=32
    )


def create_user(name: str, role: str, password: str) -> User:
    """A user with a fresh salt.

    Raises:
        WrightError: the name, the role or the password will not do.
    """
    if not _NAME.fullmatch(name):
        raise WrightError.from_code(
            "web-user",
            _("{name!r} is no user's name", name=name),
            _("give the name that Slurm knows, such as ann"),
            exit_code=EXIT_USAGE,
        )
    if role not in ROLES:
        raise WrightError.from_code(
            "web-user",
            _("there is no role {role!r}", role=role),
            _("one of {roles}", roles=", ".join(ROLES)),
            exit_code=EXIT_USAGE,
        )
    if not SHORTEST <= len(password) <= LONGEST:
        raise WrightError.from_code(
            "web-user",
            _("the password has {count} signs", count=len(password)),
            _("{shortest} to {longest}", shortest=SHORTEST, longest=LONGEST),
            exit_code=EXIT_USAGE,
        )
    salt = secrets.token_bytes(16)
    return User(name, role, salt, _hash(password, salt))


class Users:
    """The file; read again when it has changed, so that who is taken out is out at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: tuple[int, int, int] | None = None
        self._users: dict[str, User] = {}

    def all(self) -> dict[str, User]:
        """Every user by name; none where there is no file.

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
                    f"has mode {stat.st_mode & 0o777:04o}, so others can read it", "chmod 600 it"
                )
            self._users, self._stamp = self._read(), stamp
        return self._users

    def _read(self) -> dict[str, User]:
        try:
            rows = json.loads(self.path.read_text(encoding="utf-8"))["users"]
            return {
                name: User(name, row["role"], _bytes(row["salt"]), _bytes(row["scrypt"]))
                for name, row in rows.items()
                if row["role"] in ROLES
            }
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._unusable(
                f"cannot be read: {error}", "fix it, or remove it and add the users again"
            ) from error

    def set_user(self, user: User) -> None:
        """The user is in the file, with this role and password and no other."""
        self._write({**self.all(), user.name: user})

    def remove(self, name: str) -> bool:
        """The user is not in the file; False where they were not in it before."""
        users = self.all()
        self._write({user_name: user for user_name, user in users.items() if user_name != name})
        return name in users

    def _write(self, users: dict[str, User]) -> None:
        rows = {
            user.name: {"role": user.role, "salt": _text(user.salt), "scrypt": _text(user.hashed)}
            for user in users.values()
        }
        write_file_atomic(self.path, json.dumps({"schema": 1, "users": rows}, indent=2) + "\n", mode=0o600)
        self._stamp = None

    def _unusable(self, problem: str, fix: str) -> WrightError:
        return WrightError.from_code("web-users-file", f"{self.path} {problem}", fix)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
