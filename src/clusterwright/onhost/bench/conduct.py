"""Gives one order and gathers its answers, on a host that sees the bench's folder.

Leaves early when the job is no longer running. Standard library, Python 3.8 or later.
"""

import json
import os
import sys
import time
from typing import Any, Dict

from clusterwright.onhost.lib import processes
from clusterwright.onhost.lib.files import write_atomic

MARK = "@clusterwright-bench "  # what comes before it on stdout is a login banner or the like
LOOK_S = 0.05
ASK_SLURM_S = 3.0
RUNNING = ("RUNNING", "COMPLETING", "")  # Slurm may be silent for a while

Json = Dict[str, Any]


def main() -> None:
    """Print every answer that came within the limit, and the state of the job; stdin has the order."""
    asked = json.load(sys.stdin)
    folder, name, hosts = asked["folder"], asked["name"], set(asked["order"]["parts"])
    give(folder, name, asked["order"])
    place = os.path.join(folder, "answers", name)
    began = looked = time.monotonic()
    there, state = set(), "RUNNING"  # type: set[str], str
    while time.monotonic() - began < asked["limit_s"] and state in RUNNING:
        there = arrived(place) & hosts
        if there == hosts:
            break
        if time.monotonic() - looked > ASK_SLURM_S:
            state, looked = job_state(asked["job"]), time.monotonic()
        time.sleep(LOOK_S)
    answers = {host: read(os.path.join(place, host + ".json")) for host in sorted(there)}
    sys.stdout.write("\n" + MARK + json.dumps({"answers": answers, "state": state}) + "\n")


def give(folder: str, name: str, order: Json) -> None:
    """Written whole before it has its name."""
    write_atomic(os.path.join(folder, "orders", name + ".json"), json.dumps(order), durable=False)


def arrived(place: str) -> "set[str]":
    """Hosts that have answered."""
    try:
        return {name[: -len(".json")] for name in os.listdir(place) if not name.startswith(".")}
    except FileNotFoundError:
        return set()


def read(path: str) -> Json:
    """One answer."""
    with open(path) as file:
        return dict(json.load(file))


def job_state(job: str) -> str:
    """What Slurm says of the job; `GONE` once it has forgotten it, nothing where it does not answer."""
    argv = ["squeue", "--noheader", "--states=all", "--format=%T", "--jobs=" + job]
    done = processes.run(argv)
    if "Invalid job id" in done.err:
        return "GONE"
    return done.out.strip() if done.ok else ""
