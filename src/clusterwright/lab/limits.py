"""Limits of the kernel that all hosts of all labs share, because they share its root user."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from clusterwright.errors import Finding

INOTIFY = Path("/proc/sys/fs/inotify/max_user_instances")
INOTIFY_PER_HOST = 5  # counted on a host with Slurm running: 3 of systemd's, 1 of dbus; one in reserve


def judge_inotify(hosts: int, used: int, limit: int) -> tuple[Finding, ...]:
    """A finding when the hosts would not get the inotify instances that their systemd needs.

    Seen without it: hosts that boot half, with `Too many open files` on their consoles.
    """
    needed = hosts * INOTIFY_PER_HOST
    if used + needed <= limit:
        return ()
    enough = max(1024, 2 * (used + needed))
    return (
        Finding(
            "lab-inotify",
            f"{hosts} hosts need {needed} inotify instances, {used} are in use, and root may have {limit}",
            f"sysctl fs.inotify.max_user_instances={enough}, or take another lab down first",
        ),
    )


def inotify_in_use() -> int:
    """Instances that root's processes hold, in all hosts."""
    count = 0
    for folder in Path("/proc").glob("[0-9]*/fd"):
        with suppress(OSError):  # processes come and go, and some are not ours to look into
            if folder.stat().st_uid == 0:
                count += sum(is_inotify(handle) for handle in folder.iterdir())
    return count


def inotify_limit() -> int:
    """How many instances one user may hold."""
    return int(INOTIFY.read_text())


def is_inotify(handle: Path) -> bool:
    """True for a /proc/PID/fd entry that is an inotify instance."""
    with suppress(OSError):
        return str(handle.readlink()) == "anon_inode:inotify"
    return False
