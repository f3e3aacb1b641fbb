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
from typing import Any, Dict, Iterator, List

from clusterwright.onhost.lib import processes
from clusterwright.onhost.supervisor.hang import stacks

SAMPLES = 3
INTERVAL_S = 0.9
TO_WRITE_S = 0.1
SPY_S = 10
_COLLECTIVE = re.compile(r"torch/distributed/(?:distributed_c10d|c10d_logger|_functional_collectives)\.py")
_CALLED = re.compile(r"torch/distributed/distributed_c10d\.py\"?[^\n]*? in (?P<name>[a-z]\w*)")
_SPIED = re.compile(r"^ +(?P<name>\S+) \((?P<file>[^:]+):(?P<line>\d+)\)$", re.MULTILINE)


def main() -> int:
    """Sample the job's ranks on this host and print a list of ranks, each with its samples, as JSON."""
    job = sys.argv[1]
    ranks = list(_ranks(job))
    for number in range(SAMPLES):
        if number:
            time.sleep(INTERVAL_S)
        for rank in ranks:
            rank["samples"].append(_sample(rank))
    json.dump([{name: rank[name] for name in ("rank", "pid", "samples")} for rank in ranks], sys.stdout)
    return 0


def _ranks(job: str) -> Iterator[Dict[str, Any]]:
    """Yield the job's ranks on this host whose stacks can be read: by their own dump or by py-spy."""
    for path in glob.glob("/proc/[0-9]*/environ"):
        pid = int(path.split("/")[2])
        try:
            with open(path, "rb") as file:
                environment = dict(entry.partition(b"=")[::2] for entry in file.read().split(b"\0"))
        except OSError:
            continue
        if environment.get(b"SLURM_JOB_ID", b"") != job.encode():
            continue
        written = _written(pid)
        rank = environment.get(b"RANK", b"").decode(errors="replace")
        if written and stacks.listens(pid):
            local = os.path.basename(written).partition(".")[0]
            yield {"rank": rank or "local " + local, "pid": pid, "path": written, "samples": []}
        elif rank and shutil.which("py-spy"):
            yield {"rank": rank, "pid": pid, "path": "", "samples": []}


def _written(pid: int) -> str:
    """Return the file into which the process writes its stacks, or ""."""
    for link in glob.glob(f"/proc/{pid}/fd/*"):
        try:
            path = os.readlink(link)
        except OSError:
            continue
        if path.endswith(".stacks"):
            return path
    return ""


def _sample(rank: Dict[str, Any]) -> Dict[str, str]:
    """Return one sample: process state, kernel wait channel, its code location, and the collective that it is in."""
    pid = rank["pid"]
    stack = _request_stack(pid, rank["path"]) if rank["path"] else _spied(pid)
    called = _CALLED.findall(stack) if _COLLECTIVE.search(stack) else []
    return {
        "state": stacks.state(pid),
        "kernel": _kernel(pid),
        "place": stacks.location(stack) if stack else "",
        "collective": called[-1] if called else "",
    }


def _request_stack(pid: int, path: str) -> str:
    offset = stacks.size(path)
    if not stacks.request_dump(pid):
        return ""
    time.sleep(TO_WRITE_S)
    threads: List[str] = list(stacks.threads(stacks.read_from(path, offset)))
    return threads[-1] if threads else ""


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
