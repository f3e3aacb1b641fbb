"""The secrets of a cluster on this machine, created once and readable by their owner only."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from clusterwright.edge.own_folders import create_own_folder, trusted_uids
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.onhost.lib.trusted_paths import FOREIGN, PathStep

MUNGE_KEY_BYTES = 1024  # mungekey(8): 32 to 1024 bytes


def state_folder(cluster: str) -> Path:
    """Return the folder of a cluster's secrets, `$XDG_STATE_HOME/clusterwright/NAME`; create it with mode 0700.

    Raises:
        WrightError: another user could exchange the folder, and with it the secrets.
    """
    home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    folder = create_own_folder(home / "clusterwright" / cluster, _exchangeable_state, holds_folders=True)
    folder.mkdir(exist_ok=True)  # an error if it is a file
    folder.chmod(0o700)
    return folder


def _exchangeable_state(step: PathStep, risk: str) -> WrightError:
    """Return the error of a state folder in which another user could exchange the secrets; `risk`: a code."""
    if risk == FOREIGN:
        message = _("{folder} belongs to another user, who could exchange the secrets", folder=step.path)
    else:
        message = _("all users may write to {folder} and could exchange the secrets", folder=step.path)
    fix = _("name a folder of your own: export XDG_STATE_HOME=FOLDER")
    return WrightError.from_code("state-exchangeable", message, fix, exit_code=EXIT_USAGE)


def munge_key(folder: Path) -> bytes:
    """Return the cluster's munge key, 1024 random bytes, created on first use; raises as `stored_munge_key`."""
    if (key := stored_munge_key(folder)) is None:
        _make(folder / "munge.key", new_munge_key())
        key = stored_munge_key(folder)
    return key or b""


def new_munge_key() -> bytes:
    """Return a new munge key, which is not stored yet."""
    return secrets.token_bytes(MUNGE_KEY_BYTES)


def write_munge_key(folder: Path, key: bytes) -> None:
    """Store a munge key atomically, with mode 0600; a stored key is never replaced.

    Raises:
        WrightError: another key is stored, or one that cannot be used.
    """
    path = folder / "munge.key"
    if stored_munge_key(folder) is None:
        _make(path, key)
    if stored_munge_key(folder) != key:
        raise WrightError.from_code(
            "state-disagrees",
            _("{path} is another munge key; nothing was changed", path=path),
            _("run the command again; if the key of the hosts is right, rename the file first"),
        )


def stored_munge_key(folder: Path) -> bytes | None:
    """Return the cluster's munge key, None if this machine does not have one.

    Raises:
        WrightError: it belongs to another user, other users can read it, or it is truncated.
    """
    path = folder / "munge.key"
    if not path.exists():
        return None
    with path.open("rb") as file:
        key, status = file.read(), os.fstat(file.fileno())
    if status.st_uid not in trusted_uids():
        raise WrightError.from_code(
            "munge-key",
            _("{path} belongs to user {uid}, who knows it and can exchange it", path=path, uid=status.st_uid),
            _("remove the file, then run `wright state recover`"),
        )
    mode = status.st_mode & 0o777
    if mode & 0o077 or len(key) != MUNGE_KEY_BYTES:
        raise WrightError.from_code(
            "munge-key",
            _(
                "{path} has mode {mode} and {count} bytes; expected 0600 and {expected} bytes",
                path=path,
                mode=f"{mode:04o}",
                count=len(key),
                expected=MUNGE_KEY_BYTES,
            ),
            _(
                "run chmod 600 {path}; if another user may have read it: wright explain munge-key",
                path=path,
            ),
        )
    return key


def first_password(folder: Path, name: str) -> bytes:
    """Return the stored password `name` of a program; on first use create it at random."""
    path = folder / name
    if not path.exists():
        _make(path, secrets.token_urlsafe(24).encode())
    return path.read_bytes()


def _make(path: Path, data: bytes) -> None:
    """Write a secret (mode 0600) atomically to a new file; if another process has created it meanwhile, keep that."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(scratch, path)
    except FileExistsError:
        pass
    finally:
        scratch.unlink()
