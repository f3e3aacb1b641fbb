"""CPU and wall seconds, plans and peak memory of the two largest plan searches, each in a fresh process.

    python -m bench.search [RUNS]

Goal: at most 2 CPU seconds and 1 GiB for 175 billion parameters on 4,096 GPUs at a batch of 1,536, and
for a trillion parameters. `cold` is the first search of a process with its imports, `warm` the second.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys

GOAL_S, GOAL_MIB = 2.0, 1024
CASES = {
    "175B dense": ("gpt3-175b", 2048, 1536, {}),
    "175B dense, any tp": ("gpt3-175b", 2048, 1536, {"max_tp": 4096}),
    "1T dense": ("megatron-1t", 2048, 1536, {}),
    "1T experts": ("kimi-1t", 4096, 1536, {}),
}
ONE = """
import json, resource, sys, time
began = time.process_time(); wall = time.perf_counter()
from clusterwright import catalog
from clusterwright.plan.machines import machine
from clusterwright.plan.run import Training
from clusterwright.plan.search.options import Options
from clusterwright.plan.search.fastest import search
name, seq, batch, more = json.loads(sys.argv[1])
question = Training(catalog.architecture(name), seq, batch), machine(catalog.gpu("h100-sxm-80gb"), 4096)
said = search(*question, options=Options(**more))
cold, cold_wall, began = time.process_time() - began, time.perf_counter() - wall, time.process_time()
search(*question, options=Options(**more))
warm, memory = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"cold": cold, "warm": warm, "wall": cold_wall, "memory": memory, "plans": said.counts.considered,
                  "decided": said.counts.decided, "best_s": said.best.time.total}))
"""


def main() -> None:
    """Print medians of the runs."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    one_core = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    print(
        f"{'':20}{'plans':>10}{'standing for':>14}{'cold CPU s':>12}{'warm':>7}{'wall':>7}{'MiB':>6}{'best s':>8}"
    )
    met = True
    for name, case in CASES.items():
        argv = [sys.executable, "-c", ONE, json.dumps(case)]
        seen = [
            json.loads(subprocess.run(argv, check=True, env=one_core, capture_output=True, text=True).stdout)
            for _ in range(runs)
        ]
        of = {key: statistics.median(one[key] for one in seen) for key in seen[0]}
        met = met and of["cold"] <= GOAL_S and of["memory"] <= GOAL_MIB
        print(
            f"{name:20}{of['plans']:10.0f}{of['decided']:14.0f}{of['cold']:12.2f}{of['warm']:7.2f}{of['wall']:7.2f}"
            f"{of['memory']:6.0f}{of['best_s']:8.2f}"
        )
    print(
        f"load {os.getloadavg()[0]:.1f}; goal: {GOAL_S:g} CPU s cold and {GOAL_MIB} MiB: {'met' if met else 'MISSED'}"
    )


if __name__ == "__main__":
    main()
