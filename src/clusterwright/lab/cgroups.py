"""Control groups of each host: they contain every process of the host, also after a crash of `wright`.

On a machine with cgroup v1 every controller is a tree of its own; with v2 there is one tree. Both are handled,
and both at once, as in systemd's hybrid mode.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

OURS = "clusterwright"


def mounted(mountinfo: str) -> tuple[Path, ...]:
    """Return the mount points of cgroup trees, from the text of /proc/self/mountinfo; v1 before v2."""
    mounts: dict[str, list[Path]] = {"cgroup": [], "cgroup2": []}
    for line in mountinfo.splitlines():
        mount_fields, _, filesystem = line.partition(" - ")
        kind = filesystem.split(" ", 1)[0]
        if kind in mounts:
            mounts[kind].append(Path(mount_fields.split(" ")[4]))
    return tuple(mounts["cgroup"] + mounts["cgroup2"])


def trees() -> tuple[Path, ...]:
    """Return the mount points of this machine's cgroup trees."""
    return mounted(Path("/proc/self/mountinfo").read_text())


def groups(lab: str, host: str = "") -> tuple[Path, ...]:
    """Return the control group of a host, or without `host` of a whole lab, in every cgroup tree.

    The groups may not exist.
    """
    return tuple(tree / OURS / lab / host for tree in trees())


def make(lab: str, host: str) -> tuple[Path, ...]:
    """Create the control group of a lab's host in every tree, with one child for its keeper and one for its processes.

    Return the paths of the host's groups.
    """
    for tree in trees():
        parent = tree
        for part in (OURS, lab, host):
            parent = _child(parent, part)
        for part in ("keeper", "run"):
            _child(parent, part)
    return groups(lab, host)


def join(lab: str, name: str, pid: int) -> None:
    """Move a process to the lab's control group `name`, which is not a host's, in every tree of control groups."""
    for tree in trees():
        group = _child(_child(_child(tree, OURS), lab), name)
        (group / "cgroup.procs").write_text(str(pid))


def groups_of(pid: int) -> tuple[Path, ...]:
    """Return the groups that a process of this machine is in; empty if it has ended."""
    try:
        rows = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return ()
    paths = {row.split(":", 2)[2].lstrip("/") for row in rows}
    candidates = {tree / path / "cgroup.procs" for tree in trees() for path in paths}
    return tuple(
        listing.parent
        for listing in sorted(candidates)
        if listing.exists() and str(pid) in listing.read_text().split()
    )


def _child(parent: Path, name: str) -> Path:
    _delegate(parent)
    child = parent / name
    child.mkdir(exist_ok=True)
    _inherit_cpus(parent, child)
    return child


def _delegate(group: Path) -> None:
    """On v2, enable the group's controllers for its children; fails silently if the group has processes."""
    control = group / "cgroup.subtree_control"
    if control.exists():
        for controller in (group / "cgroup.controllers").read_text().split():
            with suppress(OSError):
                control.write_text(f"+{controller}")


def _inherit_cpus(parent: Path, child: Path) -> None:
    """Set CPUs and memory nodes of a new v1 cpuset to its parent's: it starts empty and refuses processes.

    Does nothing on v2.
    """
    if (child / "cgroup.subtree_control").exists():
        return
    for name in ("cpuset.cpus", "cpuset.mems"):
        if (child / name).exists() and not (child / name).read_text().strip():
            (child / name).write_text((parent / name).read_text())


def processes(lab: str, host: str = "") -> set[int]:
    """Return the PIDs in the control groups of a host, or without `host` of a whole lab."""
    pids: set[int] = set()
    for group in groups(lab, host):
        for listing in group.rglob("cgroup.procs"):
            with suppress(OSError):  # a group may vanish during the read
                pids.update(int(pid) for pid in listing.read_text().split())
    return pids - {0}


def freeze(lab: str, host: str = "", *, frozen: bool) -> None:
    """Freeze or thaw every process of the host; an empty `host` means all hosts of the lab."""
    for group in groups(lab, host):
        with suppress(FileNotFoundError):
            if (group / "freezer.state").exists():
                (group / "freezer.state").write_text("FROZEN" if frozen else "THAWED")
            elif (group / "cgroup.freeze").exists() and not _has_freezer_v1():
                (group / "cgroup.freeze").write_text("1" if frozen else "0")


def is_frozen(lab: str, host: str) -> bool:
    """Return True if the host's processes are frozen."""
    for group in groups(lab, host):
        for name, yes in (("freezer.state", ("FROZEN", "FREEZING")), ("cgroup.freeze", ("1",))):
            with suppress(OSError):
                if (group / name).read_text().strip() in yes:
                    return True
    return False


def _has_freezer_v1() -> bool:
    return any((tree / OURS / "freezer.state").exists() for tree in trees())


def kill(lab: str, host: str = "", *, limit_s: float = 10) -> set[int]:
    """Kill every process of the host, by default of the whole lab; return those left after the timeout.

    Processes are frozen first, so that none starts another or closes a connection before it is killed.
    """
    deadline = time.monotonic() + limit_s
    while True:
        freeze(lab, host, frozen=True)
        for pid in processes(lab, host):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        freeze(lab, host, frozen=False)
        survivors = processes(lab, host)
        if not survivors or time.monotonic() > deadline:
            return survivors
        time.sleep(0.02)


def remove(lab: str, host: str = "", *, limit_s: float = 5) -> list[str]:
    """Remove the control groups of a host, or of the whole lab if `host` is empty, and the empty ones above.

    Return the paths of those that remain after `limit_s` seconds: a killed process stays in its group until its parent
    has waited for it.
    """
    deadline = time.monotonic() + limit_s
    while True:
        for group in groups(lab, host):
            for folder in sorted(group.rglob("*/"), key=lambda path: len(path.parts), reverse=True):
                _rmdir(folder)
            _rmdir(group)
            _rmdir(group.parent)
        leftovers = [str(group) for group in groups(lab, host) if group.exists()]
        if not leftovers or time.monotonic() > deadline:
            return leftovers
        time.sleep(0.02)


def _rmdir(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()
