"""Writes one order for the workers and collects their answers, on a host that has the bench's folder mounted.

Ends early when the job is no longer running. Standard library, Python 3.8 or later.
"""

import json
import os
import sys
import time
from typing import Any, Dict

from clusterwright.onhost.lib import processes
from clusterwright.onhost.lib.files import write_atomic

MARKER = "@clusterwright-bench "  # text before it on stdout is a login banner or the like
POLL_INTERVAL_S = 0.05
SLURM_POLL_S = 3.0
RUNNING = ("RUNNING", "COMPLETING", "")  # "": Slurm may not respond for a while

Json = Dict[str, Any]


def main() -> None:
    """Write the order on stdin to a file for the workers on the hosts, wait for their answers, and print these as JSON.

    It waits up to the order's limit, or until the Slurm job has ended, whose state it prints too.
    """
    request = json.load(sys.stdin)
    folder, name, hosts = request["folder"], request["name"], set(request["order"]["parts"])
    write_order(folder, name, request["order"])
    answers_folder = os.path.join(folder, "answers", name)
    began = last_poll = time.monotonic()
    answered_hosts, state = set(), "RUNNING"  # type: set[str], str
    while time.monotonic() - began < request["limit_s"] and state in RUNNING:
        answered_hosts = arrived(answers_folder) & hosts
        if answered_hosts == hosts:
            break
        if time.monotonic() - last_poll > SLURM_POLL_S:
            state, last_poll = job_state(request["job"]), time.monotonic()
        time.sleep(POLL_INTERVAL_S)
    answers = {host: read(os.path.join(answers_folder, host + ".json")) for host in sorted(answered_hosts)}
    sys.stdout.write("\n" + MARKER + json.dumps({"answers": answers, "state": state}) + "\n")


def write_order(folder: str, name: str, order: Json) -> None:
    """Write an order, a document with the part of each host, atomically into the bench's folder, for the workers."""
    write_atomic(os.path.join(folder, "orders", name + ".json"), json.dumps(order), durable=False)


def arrived(folder: str) -> "set[str]":
    """Return the names of the hosts whose answers are in the folder."""
    try:
        return {name[: -len(".json")] for name in os.listdir(folder) if not name.startswith(".")}
    except FileNotFoundError:
        return set()


def read(path: str) -> Json:
    """Return the answer that one host wrote to the file at `path` as JSON."""
    with open(path) as file:
        return dict(json.load(file))


def job_state(job: str) -> str:
    """Return the job's state in Slurm, such as RUNNING; `GONE` once Slurm has purged it, "" if squeue fails."""
    argv = ["squeue", "--noheader", "--states=all", "--format=%T", "--jobs=" + job]
    result = processes.run(argv)
    if "Invalid job id" in result.err:
        return "GONE"
    return result.out.strip() if result.ok else ""
