"""Samples the stacks of a job's ranks (standard library, Python 3.8; sent to a host of the job).

Ranks that our runtime started dump their stacks on a signal; for others py-spy is used, if it is installed. Each rank
is sampled three times within two seconds.
"""

from __future__ import annotations

import glob
import json
import os
import re
import shutil
import sys
import time
from typing import Any, Dict, Iterator, List, Optional, Sequence

from clusterwright.onhost.lib import processes
from clusterwright.onhost.lib.job_cgroups import job_of_process
from clusterwright.onhost.lib.numbers import ascii_int
from clusterwright.onhost.supervisor.hang import stacks

SAMPLES = 3
INTERVAL_S = 0.9
TO_WRITE_S = 0.1
SPY_S = 10
SQUEUE_S = 10
MOST_RANKS = 64  # of a host
_COLLECTIVE = re.compile(r"torch/distributed/(?:distributed_c10d|c10d_logger|_functional_collectives)\.py")
_CALLED = re.compile(r"torch/distributed/distributed_c10d\.py\"?[^\n]*? in (?P<name>[a-z]\w*)")
_SPIED = re.compile(r"^ +(?P<name>\S+) \((?P<file>[^:]+):(?P<line>\d+)\)$", re.MULTILINE)


def main() -> int:
    """Print the stacks of the ranks of a job (argument 1) on this host as a JSON list; return 0.

    Each rank has SAMPLES samples, INTERVAL_S apart.
    """
    ranks = _ranks(sys.argv[1])
    for number in range(SAMPLES):
        if number:
            time.sleep(INTERVAL_S)
        add_samples(ranks)
    json.dump([{name: rank[name] for name in ("rank", "pid", "samples")} for rank in ranks], sys.stdout)
    return 0


def _ranks(job: str) -> List[Dict[str, Any]]:
    """Return the job's processes whose stacks can be read, at most MOST_RANKS.

    Any user can set SLURM_JOB_ID, so the processes are those in the job's cgroup. Where Slurm uses none, they are those
    of the job's user.
    """
    ranks = list(_processes(job))
    inside = [rank for rank in ranks if rank["is_inside"]]
    if not inside and ranks:
        uid = _user_of(job)
        owners = {rank["uid"] for rank in ranks}
        inside = [rank for rank in ranks if rank["uid"] == uid or (uid is None and len(owners) == 1)]
    return inside[:MOST_RANKS]


def _processes(job: str) -> Iterator[Dict[str, Any]]:
    """Yield the processes whose environment names the job, except those in the cgroup of another one.

    Only those whose stacks can be read: they write them on a signal, or have a rank and py-spy is installed.
    """
    for environ in glob.glob("/proc/[0-9]*/environ"):
        pid = int(environ.split("/")[2])
        try:
            with open(environ, "rb") as file:
                environment = dict(entry.partition(b"=")[::2] for entry in file.read().split(b"\0"))
            cgroup_job = job_of_process(pid)
            uid = os.stat(f"/proc/{pid}").st_uid
        except OSError:
            continue
        if environment.get(b"SLURM_JOB_ID", b"") != job.encode() or cgroup_job not in ("", job):
            continue
        path, rank = _written(pid), environment.get(b"RANK", b"").decode(errors="replace")
        writes = bool(path) and stacks.listens(pid)
        if writes or (rank and shutil.which("py-spy")):
            local = os.path.basename(path).partition(".")[0]
            process = {
                "rank": rank or "local " + local,
                "pid": pid,
                "path": path if writes else "",
                "samples": [],
            }
            yield dict(process, uid=uid, is_inside=bool(cgroup_job))


def _user_of(job: str) -> Optional[int]:
    result = processes.run(["squeue", "--noheader", "--all", f"--jobs={job}", "--format=%U"], SQUEUE_S)
    return ascii_int(result.out.strip()) if result.code == 0 else None


def _written(pid: int) -> str:
    """Return the file into which the process writes its stacks, an open `*.stacks`; "" without one."""
    for link in glob.glob(f"/proc/{pid}/fd/*"):
        try:
            path = os.readlink(link)
        except OSError:
            continue
        if path.endswith(".stacks"):
            return path
    return ""


def add_samples(ranks: Sequence[Dict[str, Any]]) -> None:
    """Add a sample to each rank; all of them write their stacks at the same time."""
    sizes = [stacks.size(rank["path"]) if rank["path"] else 0 for rank in ranks]
    requested = [bool(rank["path"]) and stacks.request_dump(rank["pid"]) for rank in ranks]
    if any(requested):
        time.sleep(TO_WRITE_S)
    for rank, size, is_requested in zip(ranks, sizes, requested):
        stack = "" if rank["path"] else _spied(rank["pid"])
        if is_requested:
            stack = ([*stacks.threads(stacks.read_from(rank["path"], size))] or [""])[-1]
        rank["samples"].append(_sample(rank["pid"], stack))


def _sample(pid: int, stack: str) -> Dict[str, str]:
    """Return one sample of a process: its state, kernel wait channel, code location, and the collective that it is in.

    `stack` is its printed stack; empty values are unknown.
    """
    called = _CALLED.findall(stack) if _COLLECTIVE.search(stack) else []
    return {
        "state": stacks.state(pid),
        "kernel": _kernel(pid),
        "place": stacks.location(stack) if stack else "",
        "collective": called[-1] if called else "",
    }


def _spied(pid: int) -> str:
    """Return the process's stack by py-spy, in faulthandler's format; "" if py-spy does not end in time."""
    argv = ["py-spy", "dump", "--nonblocking", "--pid", str(pid)]
    result = processes.run(argv, SPY_S)
    if result.stopped:
        return ""
    return "\n".join(
        f'  File "{match["file"]}", line {match["line"]} in {match["name"]}'
        for match in _SPIED.finditer(result.out)
    )


def _kernel(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/wchan", encoding="utf-8", errors="replace") as file:
            return re.sub(r"\W", "", file.read())
    except OSError:
        return ""
