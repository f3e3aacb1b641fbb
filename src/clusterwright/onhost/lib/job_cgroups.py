"""Find the Slurm job that a cgroup belongs to, v1 and v2 (standard library, Python 3.6).

Users can create cgroups of any name below their own services, in user.slice: those belong to no job.
"""

import re
from typing import Iterable, Optional

# Slurm's layouts, at the root or in a container, the first of a path counts: v2 the scope of its step
# daemons, v1 `slurm` or `slurm_NODE` (since 21.08).
_CGROUP = re.compile(
    r"/(?:[^:]*?/)??(?:system\.slice/[^/]*slurmstepd\.scope|slurm[^/]*/uid_[0-9]+)/job_(?P<job>[0-9]+)(?:/|$)"
)
_OF_USERS = re.compile(r"/user\.slice/|/user@")


def job_of_cgroup(path: str) -> str:
    """Return the job whose step daemon created the cgroup of a path below the mount point; "" without one."""
    match = None if _OF_USERS.search(path) else _CGROUP.match(path)
    return match.group("job") if match else ""


def job_of_cgroups(text: str) -> str:
    """Return the job of a process from the lines of its /proc/PID/cgroup, `ID:CONTROLLERS:PATH`; "" without one."""
    return next(filter(None, map(job_of_cgroup, _paths(text.split("\n")))), "")


def job_of_process(pid: int, proc: str = "/proc") -> Optional[str]:
    """Return the job of a process, "" without one; None for a process that has ended."""
    try:
        with open("%s/%d/cgroup" % (proc, pid), encoding="utf-8", errors="replace") as file:
            return job_of_cgroups(file.read())
    except OSError:
        return None


def _paths(lines: Iterable[str]) -> Iterable[str]:
    return (line.split(":", 2)[2] for line in lines if line.count(":") >= 2)
