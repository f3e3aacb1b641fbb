"""Seconds from `wright train` to the first training step, against a hand-written sbatch script, alternately.

    python -m bench.launch cluster.yaml --as alice [--times 5]

On a lab that is applied and idle. Both train the same small model with DistributedDataParallel on two hosts, two
ranks each. wright: `wright train -- python first.py` on this machine, which copies the code and submits. By hand:
`sbatch` on the control host, over SSH, of a script with srun and torchrun, with the code already on shared storage.
The clock, which all lab hosts share, runs from before the command to the end of rank 0's first step.
Prints each time, medians and their difference; goal: at most 1 s.
"""

import argparse
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from clusterwright.config.load import load_cluster
from clusterwright.edge.ssh import Ssh
from clusterwright.provision.apply import remote_of

WRIGHT = (sys.executable, "-c", "from clusterwright.cli import main; main()", "train")
GOAL_S, LIMIT_S = 1.0, 300
FIRST = """
import os, sys, time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
model(torch.ones(4, 8)).sum().backward()
optimizer.step()
if dist.get_rank() == 0:
    with open(sys.argv[1] + ".new", "w") as file:
        file.write(str(time.time()))
    os.replace(sys.argv[1] + ".new", sys.argv[1])
dist.barrier()
dist.destroy_process_group()
"""
BY_HAND = """#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:2
#SBATCH --cpus-per-task=8
#SBATCH --time=5
#SBATCH --output=/dev/null
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -1)
export PATH=/opt/clusterwright/env/bin:$PATH OMP_NUM_THREADS=1
srun torchrun --nnodes=2 --nproc-per-node=2 --rdzv-id="$SLURM_JOB_ID" --rdzv-backend=c10d \\
  --rdzv-endpoint="$head:29500" first.py "$1"
"""


class Bench:
    """Both ways of submission (`wright train` and sbatch) on one lab."""

    def __init__(self, file: Path, user: str) -> None:
        self.file, self.user = file, user
        self.cluster = load_cluster(file)
        self.remote: Ssh = remote_of(self.cluster)
        self.folder = f"{self.cluster.shared_folder}/bench-launch"
        self.times = 0

    def control(self, command: str, stdin: bytes = b"") -> str:
        """Return the output of a command on the control host."""
        done = self.remote.run(self.cluster.control.name, command, stdin=stdin, timeout_s=LIMIT_S)
        if not done.ok:
            raise SystemExit(f"{command}: {done.last_lines()}")
        return done.out

    def prepare(self) -> None:
        """Copy the hand-written script and its code to shared storage."""
        self.control(f"install -d -o {self.user} {self.folder}")
        self.control(f"cat > {self.folder}/first.py", FIRST.encode())
        self.control(f"cat > {self.folder}/by_hand.sh", BY_HAND.encode())

    def mark(self) -> str:
        """Return the path of a new marker file."""
        self.times += 1
        return f"{self.folder}/{os.getpid()}-{self.times}"

    def until(self, mark: str, began: float) -> float:
        """Wait until rank 0 has written the marker and the job has left the queue; return the seconds to the marker."""
        wait = f'while [ ! -e {mark} ]; do sleep 0.1; done; cat {mark}; while [ -n "$(squeue -h)" ]; do sleep 0.5; done'
        return float(self.control(f"timeout {LIMIT_S} sh -c {shlex.quote(wait)}")) - began

    def ours(self) -> float:
        """Return the seconds to the first step with `wright train`, including its copy of the code."""
        mark = self.mark()
        with tempfile.TemporaryDirectory() as here:
            (Path(here) / "first.py").write_text(FIRST)
            began = time.time()
            asked = f"--cluster {self.file} --as {self.user} --nodes 2 --gpus 2 --time 5m -- python first.py {mark}"
            argv = [*WRIGHT, *shlex.split(asked)]
            subprocess.run(argv, cwd=here, check=True, stderr=subprocess.DEVNULL, timeout=LIMIT_S)
        return self.until(mark, began)

    def by_hand(self) -> float:
        """Return the seconds to the first step with sbatch as the user."""
        mark, began = self.mark(), time.time()
        self.control(
            f"runuser -u {self.user} -- sbatch --chdir={self.folder} {self.folder}/by_hand.sh {mark}"
        )
        return self.until(mark, began)


def main() -> None:
    """Warm up each way once, then measure alternately."""
    words = argparse.ArgumentParser()
    words.add_argument("cluster", type=Path)
    words.add_argument("--as", dest="user", required=True)
    words.add_argument("--times", type=int, default=5)
    asked = words.parse_args()
    bench = Bench(asked.cluster.absolute(), asked.user)
    bench.prepare()
    bench.ours(), bench.by_hand()
    rows = [(bench.ours(), bench.by_hand(), os.getloadavg()[0]) for _ in range(asked.times)]
    print("wright train s  sbatch s  load of 1 min")
    for ours, by_hand, load in rows:
        print(f"{ours:14.2f}  {by_hand:8.2f}  {load:13.1f}")
    ours, by_hand = (statistics.median(column) for column in list(zip(*rows, strict=True))[:2])
    word = "met" if ours - by_hand <= GOAL_S else "MISSED"
    print(f"medians of {len(rows)}: {ours:.2f} and {by_hand:.2f}, ratio {ours / by_hand:.2f}")
    print(f"goal: at most {GOAL_S} s more than by hand; {ours - by_hand:+.2f} s: {word}")
    print(f"{os.cpu_count()} cores")


if __name__ == "__main__":
    main()
