"""Whether a session is in use: the CPU time of its processes, and the last use of its terminals."""

from __future__ import annotations

import os
from typing import Dict, List, Set

from clusterwright.onhost.lib.job_cgroups import job_of_process

# Of one core. Idle Jupyter and VS Code servers stay well below (docs/log.md).
BUSY = 0.1
_USER, _SYSTEM = 11, 12  # proc(5): utime and stime, counted from the field after the name


def of_job(job_id: str, proc: str = "/proc") -> Set[int]:
    """Return the ids of all processes of the job on this host: by their cgroup, or by SLURM_JOB_ID."""
    pids = {int(name) for name in os.listdir(proc) if name.isdigit()}
    return {pid for pid in pids if _is_of(pid, job_id, proc)}


def _is_of(pid: int, job_id: str, proc: str) -> bool:
    variable = f"SLURM_JOB_ID={job_id}".encode()
    environment = _bytes(f"{proc}/{pid}/environ").split(b"\0")
    return job_of_process(pid, proc) == job_id or variable in environment


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:  # the process has ended, or is another user's
        return b""


def cpu_seconds(pids: Set[int], proc: str = "/proc") -> Dict[int, float]:
    """Return the CPU time of each process since its start."""
    tick = os.sysconf("SC_CLK_TCK")
    stats = {pid: _fields(pid, proc) for pid in pids}
    return {
        pid: (int(stat_fields[_USER]) + int(stat_fields[_SYSTEM])) / tick
        for pid, stat_fields in stats.items()
        if stat_fields
    }


def running(pids: Set[int], proc: str = "/proc") -> Set[int]:
    """Return those of the processes that run or are ready to run (state R)."""
    return {pid for pid in pids if _fields(pid, proc)[:1] == [b"R"]}


def _fields(pid: int, proc: str) -> List[bytes]:
    """Return the fields of proc(5) stat from the state on; empty for a process that has ended."""
    return _bytes(f"{proc}/{pid}/stat").rpartition(b")")[2].split()


def computed(previous: Dict[int, float], now: Dict[int, float]) -> float:
    """Return the CPU seconds that processes used between two polls; those that ended in between are missing."""
    return sum(max(0.0, seconds - previous.get(pid, 0.0)) for pid, seconds in now.items())


def typed(pids: Set[int], proc: str = "/proc") -> float:
    """Return when a terminal of these processes was last read or written, as w(1) does; 0 without one.

    Only terminals on stdin count; processes that have ended are left out.
    """
    terminals = set()
    for pid in pids:
        try:
            target = os.readlink(f"{proc}/{pid}/fd/0")
        except OSError:
            continue
        if target.startswith("/dev/pts/"):
            terminals.add(target)
    return max((_used(path) for path in terminals), default=0.0)


def _used(path: str) -> float:
    try:
        about = os.stat(path)
    except OSError:
        return 0.0
    return max(about.st_atime, about.st_mtime)


class DevWork:
    """Tracks when a session was last in use, by polls."""

    def __init__(self, job_id: str, now: float) -> None:
        self.job_id, self.last, self.polled_at = job_id, now, now
        self.cpu = cpu_seconds(of_job(job_id))
        self.running: Set[int] = set()

    def poll(self, now: float, active: float = 0.0) -> float:
        """Return the seconds since the session was last in use, by CPU time, a terminal, or its server; 0 if it is now.

        `now` and `active`, when the server last saw activity, are epoch seconds.
        """
        pids = of_job(self.job_id)
        cpu, busy = cpu_seconds(pids), running(pids - {os.getpid()})  # this process always runs
        # On a busy host a process gets less CPU time than it could use; it is then found in state R twice.
        if computed(self.cpu, cpu) > BUSY * (now - self.polled_at) or busy & self.running:
            self.last = now
        self.cpu, self.running, self.polled_at = cpu, busy, now
        self.last = max(self.last, active, typed(pids))
        return max(0.0, now - self.last)
