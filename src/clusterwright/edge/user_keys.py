"""A key pair of the cluster's own for each user, kept on this machine: made once, by ssh-keygen."""

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
    """`ssh/NAME` and `ssh/NAME.pub` for every user; what is missing is made.

    Who leaves the cluster file and comes back has the same pair again.

    Raises:
        WrightError: ssh-keygen is not there, or makes none; others can read a private half.
    """
    keys = folder / "ssh"
    keys.mkdir(mode=0o700, exist_ok=True)
    files: dict[str, bytes] = {}
    for user in users:
        private, public = keys / user, keys / f"{user}.pub"
        if not private.exists():
            _make(private, user)
        if private.stat().st_mode & 0o077:
            raise WrightError.from_code(
                "user-keys",
                _(
                    "{path} has mode {mode:04o}: other users can read it",
                    path=private,
                    mode=private.stat().st_mode & 511,
                ),
                _(
                    "chmod 600 {path} if no other user has read it; else remove it, and the next apply "
                    "creates a new key pair",
                    path=private,
                ),
            )
        if not public.exists():
            _write_public(private, public, user)
        files |= {f"ssh/{user}": private.read_bytes(), f"ssh/{user}.pub": public.read_bytes()}
    return files


def _make(private: Path, user: str) -> None:
    """Whole before it has its name, and never over one that another process made meanwhile."""
    with tempfile.TemporaryDirectory(dir=private.parent) as scratch:
        new = Path(scratch) / "key"
        _keygen("-q", "-t", "ed25519", "-N", "", "-C", user, "-f", str(new))
        try:
            os.link(new, private)
        except FileExistsError:
            return


def _write_public(private: Path, public: Path, user: str) -> None:
    """The public half, told from the private one."""
    line = _keygen("-y", "-f", str(private)).split()
    write_file_atomic(public, f"{line[0]} {line[1]} {user}@cluster\n")


def _keygen(*arguments: str) -> str:
    try:
        result = run(("ssh-keygen", *arguments))
    except OSError as error:
        raise WrightError.from_code(
            "user-keys", f"ssh-keygen: {error}", _("install openssh-client on this machine")
        ) from error
    if not result.ok:
        raise WrightError.from_code(
            "user-keys",
            f"ssh-keygen: {result.last_lines()}",
            _("fix the cause, then run the command again"),
        )
    return result.out
