"""Starts this host's ranks of a sweep or a training, and forwards their output and NCCL's log.

Standard library, Python 3.8 or later; run with the Python that has torch.
"""

import json
import os
import sys
import tempfile
from typing import Any, Dict

from clusterwright.onhost.lib import processes

LOG_LINES = 400  # the beginning: NCCL logs devices and channels once

Json = Dict[str, Any]


def main() -> int:
    """Start this host's ranks of a collective benchmark, wait for them, and print lines of NCCL's log as JSON.

    Return the largest exit code of the ranks, 0 if all succeeded.
    """
    options = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as scratch:
        ranks = [start(options, local, scratch) for local in range(options["ranks_here"])]
        codes = [rank.wait() for rank in ranks]
        for name in sorted(os.listdir(scratch)):
            if name.startswith("nccl"):
                with open(os.path.join(scratch, name), errors="replace") as log:
                    log_lines = [line.strip() for line in log if "NCCL INFO" in line][:LOG_LINES]
                sys.stdout.write(json.dumps({"log": log_lines}) + "\n")
    return max(abs(code) for code in codes)


def start(options: Json, local: int, scratch: str) -> processes.Process:
    """Start and return the process of the rank with this local rank, as options describe.

    Its output goes to this program's stdout and stderr.
    """
    rank = options["first_rank"] + local
    rank_variables = {"RANK": rank, "LOCAL_RANK": local, "WORLD_SIZE": options["ranks"]}
    master_variables = {"MASTER_ADDR": options["address"], "MASTER_PORT": options["port"]}
    wires = {"GLOO_SOCKET_IFNAME": options["interface"], "NCCL_SOCKET_IFNAME": options["interface"]}
    log_variables = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_FILE": os.path.join(scratch, "nccl.%d" % local)}
    chosen = {
        **rank_variables,
        **master_variables,
        **wires,
        **log_variables,
        "OMP_NUM_THREADS": 1,
        **options.get("environment", {}),
    }
    environment = {**os.environ, **{name: str(value) for name, value in chosen.items()}}
    folder = os.path.dirname(os.path.abspath(sys.argv[0]))
    ranks = os.path.join(folder, options.get("program", "sweep") + ".py")
    return processes.start([sys.executable, ranks, json.dumps(options)], env=environment)


if __name__ == "__main__":
    sys.exit(main())
