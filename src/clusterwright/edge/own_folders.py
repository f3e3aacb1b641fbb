"""Create folders, and judge files, that no other user can exchange while they are in use."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from clusterwright.onhost.lib.trusted_paths import PathStep, exchange_risk, resolve_links

Refusal = Callable[[PathStep, str], Exception]


def create_own_folder(folder: Path, refusal: Refusal, *, holds_folders: bool = False) -> Path:
    """Create a folder and its parents, and return it without links.

    Each folder and link on the path is checked before what is in it, so nobody else can exchange any of them meanwhile.
    With `holds_folders`, the folder may be sticky and open to all, as /tmp, and writable by its group, since only
    folders of their users are created in it; so may those above.

    Raises:
        Exception: that of `refusal`, called with the step of the path and its risk (FOREIGN or WRITABLE).
    """
    uids = trusted_uids()

    def create(step: PathStep) -> None:
        with suppress(FileExistsError):
            Path(step.path).mkdir()
        status = os.lstat(step.path)
        if holds_folders:
            status = _without_group(status)
        if risk := exchange_risk(status, uids, is_last=step.is_last and not holds_folders):
            raise refusal(step, risk)

    return Path(resolve_links(str(folder.absolute()), create))


def exchangeable_step(path: Path) -> str:
    """Return the first folder, link or file on a path that a user outside of its groups could exchange or write.

    Empty if there is none. Missing parts are not judged.

    Raises:
        OSError: a cycle of links.
    """
    uids, risky = trusted_uids(), [""]

    def judge(step: PathStep) -> None:
        with suppress(FileNotFoundError, NotADirectoryError):
            status = _without_group(os.lstat(step.path))
            if not risky[-1] and exchange_risk(status, uids, is_last=step.is_last):
                risky.append(step.path)

    resolve_links(str(path.absolute()), judge)
    return risky[-1]


def _without_group(status: os.stat_result) -> os.stat_result:
    """Return a status without the group's right to write: the site chose the members of the group."""
    return os.stat_result((status.st_mode & ~stat.S_IWGRP, *tuple(status)[1:]))


def trusted_uids() -> Collection[int]:
    """User ids whose folders are trusted: this user, root, and the user who called sudo.

    In a user namespace without the machine's root also the overflow id, which that root then has.
    """
    uids = {0, os.geteuid()} | ({int(os.environ.get("SUDO_UID", "0"))} if os.geteuid() == 0 else set())
    return uids | ({_overflow_uid()} if _is_root_unmapped() else set())


def _is_root_unmapped() -> bool:
    """Return True in a user namespace without the machine's root, whose folders then have the overflow id."""
    try:
        rows = [
            [int(cell) for cell in row.split()]
            for row in Path("/proc/self/uid_map").read_text(encoding="utf-8").splitlines()
        ]
    except OSError:
        return False
    return all(outside != 0 for _inside, outside, _length in rows)


def _overflow_uid() -> int:
    return int(Path("/proc/sys/kernel/overflowuid").read_text(encoding="ascii"))
