"""Prints zombies, and processes that wait in the kernel for one thing as long as we look, as one JSON object."""

import json
import os
import sys
import time
from typing import Dict, Tuple

LOOK_S = 5.0
LOOKS = (
    2  # after the first: on a machine with 50 processes a core `sh` waited 5 s for a child that had not begun
)
Seen = Dict[int, Tuple[str, str, str]]  # pid: name, state, how often it has waited so far


def look() -> Seen:
    """Every process with its state."""
    found: Seen = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/status" % pid, errors="replace") as file:
                rows = dict(line.split(":", 1) for line in file if ":" in line)
        except OSError:
            continue  # it has ended
        waits = rows.get("voluntary_ctxt_switches", "").strip()
        found[int(pid)] = (rows.get("Name", "").strip(), rows.get("State", "?").strip()[:1], waits)
    return found


def main() -> None:
    """Look three times: who is in state D each time and has not moved between hangs."""
    last = look()
    held = {pid: told for pid, told in last.items() if told[1] == "D"}
    for _ in range(LOOKS):
        if held:
            time.sleep(LOOK_S)
            last = look()
            held = {pid: told for pid, told in held.items() if last.get(pid) == told}
    stuck = [[pid, told[0]] for pid, told in held.items()]
    zombies = [[pid, told[0]] for pid, told in last.items() if told[1] == "Z"]
    json.dump({"stuck": stuck, "zombies": zombies, "all": len(last)}, sys.stdout)


main()
