"""A cluster-internal SSH key pair for each user, created once with ssh-keygen and stored on this machine."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from clusterwright.edge.files import write_file_atomic
from clusterwright.edge.processes import run
from clusterwright.errors import WrightError
from clusterwright.i18n import _


def user_keys(folder: Path, users: Iterable[str]) -> dict[str, bytes]:
    """Return `ssh/NAME` and `ssh/NAME.pub` of every user; create missing ones.

    A user who is removed from the cluster file and added again keeps the same pair.

    Raises:
        WrightError: ssh-keygen is missing or fails, or other users can read a private key.
    """
    keys = folder / "ssh"
    keys.mkdir(mode=0o700, exist_ok=True)
    files: dict[str, bytes] = {}
    for user in users:
        private, public = keys / user, keys / f"{user}.pub"
        if not private.exists():
            _make(private, user)
        mode = private.stat().st_mode & 0o777
        if mode & 0o077:
            message = _(
                "{path} has mode {mode}, so other users can read it", path=private, mode=f"{mode:04o}"
            )
            fix = _(
                "run `chmod 600 {path}`; if another user may have read the key, remove the key file: "
                "`wright apply` creates a new key",
                path=private,
            )
            raise WrightError.from_code("user-keys", message, fix)
        if not public.exists():
            _write_public(private, public, user)
        files |= {f"ssh/{user}": private.read_bytes(), f"ssh/{user}.pub": public.read_bytes()}
    return files


def _make(private: Path, user: str) -> None:
    """Create a user's private key atomically; if another process has created it meanwhile, keep that one."""
    with tempfile.TemporaryDirectory(dir=private.parent) as scratch:
        new = Path(scratch) / "key"
        _keygen("-q", "-t", "ed25519", "-N", "", "-C", user, "-f", str(new))
        try:
            os.link(new, private)
        except FileExistsError:
            return


def _write_public(private: Path, public: Path, user: str) -> None:
    """Derive the public key of a private key by ssh-keygen and write it to `public`."""
    line = _keygen("-y", "-f", str(private)).split()
    write_file_atomic(public, f"{line[0]} {line[1]} {user}@cluster\n")


def _keygen(*arguments: str) -> str:
    try:
        result = run(("ssh-keygen", *arguments))
    except OSError as error:
        raise WrightError.from_code(
            "user-keys", f"ssh-keygen: {error.strerror}", _("install openssh-client on this machine")
        ) from error
    if not result.ok:
        raise WrightError.from_code(
            "user-keys", f"ssh-keygen: {result.last_lines()}", _("fix the error of ssh-keygen, and run again")
        )
    return result.out
