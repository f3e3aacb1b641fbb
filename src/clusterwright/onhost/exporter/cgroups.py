"""Finds the cgroups of Slurm's jobs, v1 and v2, and reads their counters."""

from __future__ import annotations

import glob
import os
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from clusterwright.onhost.exporter.state_files import number_of, text_of
from clusterwright.onhost.lib.job_cgroups import job_of_cgroup

_NO_LIMIT = 1 << 60  # v1 prints the largest possible number of pages for no limit
# Where job_of_cgroup finds a job, at most two levels deep.
_V1 = ("slurm*/uid_*/job_*", "*/slurm*/uid_*/job_*", "*/*/slurm*/uid_*/job_*")
_V2 = (
    "system.slice/*slurmstepd.scope/job_*",
    "*/system.slice/*slurmstepd.scope/job_*",
    "*/*/system.slice/*slurmstepd.scope/job_*",
)


class ControlGroup(NamedTuple):
    """A job's cgroup folders by controller; in v2 all controllers have the same folder."""

    job: str
    folders: Dict[str, str]
    version: int

    def folder(self, controller: str) -> str:
        """Return the folder of a job's cgroup for a controller such as `memory`; "" if the job has none."""
        return self.folders.get(controller, "")


def jobs(root: str) -> List[ControlGroup]:
    """Return the cgroups of the Slurm jobs on this host, sorted by job number."""
    return sorted([*_second(root), *_v1_groups(root)], key=lambda group: int(group.job))


def _v1_groups(root: str) -> Iterator[ControlGroup]:
    folders_by_job: Dict[str, Dict[str, str]] = {}
    for controller in ("memory", "cpuacct", "cpuset", "freezer", "devices"):
        top = os.path.join(root, controller)
        top = (
            top
            if os.path.isdir(top)
            else os.path.join(root, "cpu,cpuacct")
            if controller == "cpuacct"
            else top
        )
        for pattern in _V1:
            for job, path in _folders(top, pattern):
                folders_by_job.setdefault(job, {}).setdefault(controller, path)
    for number, folders in folders_by_job.items():
        yield ControlGroup(number, folders, 1)


def _second(root: str) -> Iterator[ControlGroup]:
    for top in (root, os.path.join(root, "unified")):
        for pattern in _V2:
            for job, path in _folders(top, pattern):
                yield ControlGroup(job, dict.fromkeys(("memory", "cpuacct", "cpuset", "pids"), path), 2)


def _folders(top: str, pattern: str) -> Iterator[Tuple[str, str]]:
    """Yield the job and the path of each cgroup that matches the pattern and belongs to a job."""
    for path in glob.glob(os.path.join(glob.escape(top), pattern)):
        job = job_of_cgroup(path[len(top) :])
        if job:
            yield job, path


def processes(group: ControlGroup) -> List[int]:
    """Return the pids in a job's cgroups, including those of its steps, sorted."""
    pids = set()
    for top in dict.fromkeys(group.folders.values()):
        for folder, _, _ in os.walk(top):
            for pid in text_of(os.path.join(folder, "cgroup.procs")).split():
                pids.add(int(pid))
    return sorted(pids)


def owner(group: ControlGroup, pids: List[int], proc: str) -> Optional[int]:
    """Return a job's uid: in cgroup v1 that of its folder's name, else the highest of its processes.

    Those of root are Slurm's. None if there is no process.
    """
    path = next(iter(group.folders.values()))
    uid_text = os.path.basename(os.path.dirname(path)).partition("uid_")[2]
    if uid_text.isdigit():
        return int(uid_text)
    owners = set()
    for pid in pids:
        try:
            owners.add(os.stat(os.path.join(proc, str(pid))).st_uid)
        except OSError:
            continue
    return max(owners, default=None)


def cpu_seconds(group: ControlGroup) -> Optional[float]:
    """Return the CPU time of the job so far, from its cgroup; None if the kernel reports none."""
    folder = group.folder("cpuacct")
    if not folder:
        return None
    if group.version == 1:
        nanoseconds = number_of(os.path.join(folder, "cpuacct.usage"))
        return None if nanoseconds is None else nanoseconds / 1e9
    microseconds = _row(os.path.join(folder, "cpu.stat"), "usage_usec")
    return None if microseconds is None else microseconds / 1e6


def cpus(group: ControlGroup) -> Optional[int]:
    """Return the number of CPUs that the job's cpuset allows; None if the kernel reports none."""
    folder = group.folder("cpuset")
    for name in ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus") if folder else ():
        text = text_of(os.path.join(folder, name)).strip()
        if text:
            spans = [span.split("-") for span in text.split(",")]
            return sum(int(span[-1]) - int(span[0]) + 1 for span in spans)
    return None


def memory_bytes(group: ControlGroup) -> Optional[int]:
    """Return the memory that a job uses, without file pages, which the kernel can reclaim: a cache is no leak.

    None if the kernel reports no usage of its cgroup.
    """
    folder = group.folder("memory")
    name, prefix = ("memory.usage_in_bytes", "total_") if group.version == 1 else ("memory.current", "")
    usage: Optional[int] = number_of(os.path.join(folder, name)) if folder else None
    if usage is None:
        return None
    rows = _rows(os.path.join(folder, "memory.stat"))
    return max(0, usage - sum(rows.get(f"{prefix}{kind}_file", 0) for kind in ("active", "inactive")))


def memory_limit_bytes(group: ControlGroup) -> Optional[int]:
    """Return the memory limit of the job's cgroup, None without one."""
    folder = group.folder("memory")
    name = "memory.limit_in_bytes" if group.version == 1 else "memory.max"
    limit: Optional[int] = number_of(os.path.join(folder, name)) if folder else None
    return limit if limit is not None and limit < _NO_LIMIT else None


def oom_kills(group: ControlGroup) -> Dict[str, int]:
    """Return a job's OOM kills by cgroup folder; empty without a memory cgroup.

    v1 counts only in the cgroup of the kill, so all folders are in the result; in v2 only the job's top folder.
    """
    top = group.folder("memory")
    if not top:
        return {}
    if group.version != 1:
        return {top: _row(os.path.join(top, "memory.events"), "oom_kill") or 0}
    kills = {}
    for folder, _, _ in os.walk(top):
        kills[folder] = _row(os.path.join(folder, "memory.oom_control"), "oom_kill") or 0
    return kills


def _row(path: str, name: str) -> Optional[int]:
    """Return the number that follows `name` in a file of `name number` lines; None if it is not in the file."""
    return _rows(path).get(name)


def _rows(path: str) -> Dict[str, int]:
    """Return the numbers of a control group's file with lines `name number` by name; other lines are ignored.

    Empty if it cannot be read.
    """
    rows: Dict[str, int] = {}
    for line in text_of(path).splitlines():
        key, _, value = line.partition(" ")
        if value.strip().isdigit():
            rows.setdefault(key, int(value))
    return rows
