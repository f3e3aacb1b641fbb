"""Prints zombies, and processes blocked in the kernel during all polls, as one JSON object."""

import json
import os
import sys
import time
from typing import Dict, Tuple

POLL_INTERVAL_S = 5.0
POLLS = 2  # besides the first: with 50 processes per core `sh` waited 5 s for a child that had not run yet
ProcessTable = Dict[int, Tuple[str, str, str]]  # pid: name, state, voluntary context switches so far


def read_processes() -> ProcessTable:
    """Return every process of this host with name, state and context switches so far."""
    table: ProcessTable = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/status" % pid, errors="replace") as file:
                rows = dict(line.split(":", 1) for line in file if ":" in line)
        except OSError:
            continue  # the process has ended
        waits = rows.get("voluntary_ctxt_switches", "").strip()
        table[int(pid)] = (rows.get("Name", "").strip(), rows.get("State", "?").strip()[:1], waits)
    return table


def main() -> None:
    """Print stuck and zombie processes, and the number of all processes, as JSON.

    Stuck is a process in state D in each of several polls, without a context switch in between.
    """
    last = read_processes()
    blocked = {pid: entry for pid, entry in last.items() if entry[1] == "D"}
    for _ in range(POLLS):
        if blocked:
            time.sleep(POLL_INTERVAL_S)
            last = read_processes()
            blocked = {pid: entry for pid, entry in blocked.items() if last.get(pid) == entry}
    stuck = [[pid, entry[0]] for pid, entry in blocked.items()]
    zombies = [[pid, entry[0]] for pid, entry in last.items() if entry[1] == "Z"]
    json.dump({"stuck": stuck, "zombies": zombies, "all": len(last)}, sys.stdout)


main()
