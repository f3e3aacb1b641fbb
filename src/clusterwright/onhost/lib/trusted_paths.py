"""Judge whether another user could exchange a path; standard library only, Python 3.6 or later.

A path is safe if nobody else can exchange any folder or link on the way to it. `resolve_links` therefore visits each of
them before what is in it is read.
"""

import errno
import grp
import os
import pwd
import stat
from typing import Callable, Collection, List, NamedTuple, Optional

from clusterwright.onhost.lib.safe_reader import LINKS

FOREIGN, WRITABLE = "foreign", "writable"
SYSTEM_GROUPS = 100  # ids below are of groups such as staff and wheel (Debian Policy 9.2.2); 100 is `users`


class PathStep(NamedTuple):
    """A folder or link on a path, without links above it; `is_last`: nothing of the path is behind it."""

    path: str
    is_last: bool


def resolve_links(path: str, visit: Callable[[PathStep], None]) -> str:
    """Return an absolute path without links; its last parts may be missing.

    Calls `visit` for each folder and link on the path before it is followed, the root folder first.

    Raises:
        OSError: ELOOP, for a cycle of links.
    """
    resolved, links, remaining = "/", 0, _parts(path)
    visit(PathStep(resolved, is_last=not remaining))
    while remaining:
        step = os.path.normpath(os.path.join(resolved, remaining.pop()))
        visit(PathStep(step, is_last=not remaining))
        if not os.path.islink(step):
            resolved = step
            continue
        links += 1
        if links > LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        target = os.readlink(step)
        resolved = "/" if target.startswith("/") else resolved
        remaining += _parts(target)
    return resolved


def exchange_risk(status: os.stat_result, trusted_uids: Collection[int], *, is_last: bool) -> Optional[str]:
    """Return how another user could exchange a folder or link, or what is in it; None if nobody can.

    FOREIGN: it belongs to a user who is not trusted. WRITABLE: others may write there; above the last folder a sticky
    bit prevents that they rename what belongs to others.
    """
    if status.st_uid not in trusted_uids:
        return FOREIGN
    is_sticky = status.st_mode & stat.S_ISVTX and not is_last
    if stat.S_ISLNK(status.st_mode) or is_sticky or not _is_writable_by_others(status):
        return None
    return WRITABLE


def _parts(path: str) -> List[str]:
    """Return the parts of a path without empty ones, the last first."""
    return [part for part in reversed(path.split("/")) if part]


def _is_writable_by_others(status: os.stat_result) -> bool:
    """Return True if others may write, or a group other than the owner's private one and those of the system.

    A group that may write counts as another one if it or the owner has no name.
    """
    if not status.st_mode & stat.S_IWGRP or status.st_gid < SYSTEM_GROUPS:
        return bool(status.st_mode & stat.S_IWOTH)
    try:
        owner, group = pwd.getpwuid(status.st_uid).pw_name, grp.getgrgid(status.st_gid)
    except KeyError:
        return True
    return bool(status.st_mode & stat.S_IWOTH) or group.gr_name != owner or bool(set(group.gr_mem) - {owner})
