"""Starts this host's ranks of a sweep or of a training, and passes on what they say and what NCCL logged.

Standard library, Python 3.8 or later; run with the Python that has torch.
"""

import json
import os
import sys
import tempfile
from typing import Any, Dict

from clusterwright.onhost.lib import processes

LOG_LINES = 400  # the beginning: devices and channels are told once

Json = Dict[str, Any]


def main() -> int:
    """Start this host's ranks, and pass on what they say."""
    given = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as scratch:
        ranks = [start(given, local, scratch) for local in range(given["ranks_here"])]
        codes = [rank.wait() for rank in ranks]
        for name in sorted(os.listdir(scratch)):
            if name.startswith("nccl"):
                with open(os.path.join(scratch, name), errors="replace") as log:
                    told = [line.strip() for line in log if "NCCL INFO" in line][:LOG_LINES]
                sys.stdout.write(json.dumps({"log": told}) + "\n")
    return max(abs(code) for code in codes)


def start(given: Json, local: int, scratch: str) -> processes.Process:
    """One rank; what it says goes where ours goes."""
    rank = given["first_rank"] + local
    place = {"RANK": rank, "LOCAL_RANK": local, "WORLD_SIZE": given["ranks"]}
    where = {"MASTER_ADDR": given["address"], "MASTER_PORT": given["port"]}
    wires = {"GLOO_SOCKET_IFNAME": given["interface"], "NCCL_SOCKET_IFNAME": given["interface"]}
    told = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_FILE": os.path.join(scratch, "nccl.%d" % local)}
    chosen = {**place, **where, **wires, **told, "OMP_NUM_THREADS": 1, **given.get("environment", {})}
    environment = {**os.environ, **{name: str(value) for name, value in chosen.items()}}
    here = os.path.dirname(os.path.abspath(sys.argv[0]))
    ranks = os.path.join(here, given.get("program", "sweep") + ".py")
    return processes.start([sys.executable, ranks, json.dumps(given)], env=environment)


if __name__ == "__main__":
    sys.exit(main())
