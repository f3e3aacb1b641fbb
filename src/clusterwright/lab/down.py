"""`down`: remove everything of a lab, in any state, and report what cannot be removed."""

from __future__ import annotations

import dataclasses
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from clusterwright.edge.processes import run
from clusterwright.i18n import _
from clusterwright.lab import cgroups, disk_rate, masters, network, power, state
from clusterwright.lab.host import machine_name
from clusterwright.lab.state import LabState

NSPAWN = Path("/run/systemd/nspawn")


def down(name: str, *, log: Callable[[str], None] = lambda _: None) -> list[str]:
    """Remove the lab with that name, if there is one; return what is left of it, [] if nothing.

    Hosts are killed, not shut down: their disks are removed too.
    """
    started = time.monotonic()
    with state.locked(state.folder(name)):
        lab = state.read(name)
        leftovers = clean(lab) if lab else _remove_empty(state.folder(name))
    if lab:
        log(
            _(
                "lab `{name}` is down; items left behind: {count} ({seconds:.1f} s)",
                name=name,
                count=len(leftovers),
                seconds=time.monotonic() - started,
            )
        )
    return leftovers


def clean(lab: LabState) -> list[str]:
    """Remove everything that the lab's journal names: processes, links, mounts, control groups and folder.

    Return texts of what could not be removed. The journal itself is removed last, and only if nothing else is left.
    """
    state.write(dataclasses.replace(lab, phase="removing"))
    power.stop(lab)  # otherwise it would boot hosts during the removal
    network.remove_links(lab.layout.hosts)  # first, so that no peer receives packets from dying hosts
    leftovers = [f"process {pid} of {lab.name}" for pid in sorted(cgroups.kill(lab.name))]
    masters.remove(lab.name)
    for host in lab.layout.hosts:
        # the limit belongs to the device, and would apply to the next lab that gets it
        disk_rate.release(lab.name, host.name, lab.host_folder(host.name) / "disk")
        _forget_nspawn(machine_name(lab.name, host.name), lab.host_folder(host.name) / "root")
    _unmount(lab.folder)
    network.remove(lab.layout)
    leftovers += [f"control group {group}" for group in cgroups.remove(lab.name)]
    leftovers += [f"mount {path}" for path in mounts_under(lab.folder)] + network.find_leftovers(lab.layout)
    return leftovers + _remove_folder(lab, leftovers)


def mounts_under(folder: Path) -> list[str]:
    """Return the mount points below the folder, the newest first."""
    return mount_points(Path("/proc/self/mountinfo").read_text(), f"{folder}/")


def mount_points(mountinfo: str, prefix: str) -> list[str]:
    """Return the mount points of a mountinfo text with that prefix, the last mounted first."""
    points = [line.split(" ")[4].encode().decode("unicode_escape") for line in mountinfo.splitlines()]
    return [point for point in reversed(points) if point.startswith(prefix)]


def _unmount(folder: Path) -> None:
    for path in mounts_under(folder):
        if not run(("umount", path)).ok:
            run(("umount", "--lazy", path))


def _forget_nspawn(machine: str, root: Path) -> None:
    """Remove the propagation folder and inode lock that a killed systemd-nspawn leaves."""
    if root.exists():
        inode = root.stat()
        (NSPAWN / "locks" / f"inode-{inode.st_dev}:{inode.st_ino}").unlink(missing_ok=True)
    for path in (NSPAWN / "propagate" / machine, NSPAWN / "unix-export" / machine):
        if path.exists() and not mounts_under(path):
            shutil.rmtree(path, ignore_errors=True)


def _remove_empty(folder: Path) -> list[str]:
    """Remove the folder that an `up` left, which was interrupted before it wrote its journal; return an empty list.

    The list stands for things that could not be removed.
    """
    for scratch in folder.glob(".lab.json.*"):
        scratch.unlink()
    folder.rmdir()
    return []


def _remove_folder(lab: LabState, leftovers: list[str]) -> list[str]:
    """Delete the lab's folder, never through a mount; return it if it stays, else [].

    With a mount in it nothing is deleted; with other leftovers the journal stays.
    """
    if any(item.startswith("mount ") for item in leftovers):
        return [f"folder {lab.folder}"]
    for entry in lab.folder.iterdir():
        if entry.name != "lab.json":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    if leftovers:
        return [f"folder {lab.folder}"]
    shutil.rmtree(lab.folder)
    return []
