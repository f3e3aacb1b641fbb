"""What the sbatch script tells the supervisor: all of a job's policy, readable in the script itself."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Optional, Sequence, Tuple


@dataclass(frozen=True)
class Options:
    """The job as the supervisor knows it; times in seconds."""

    run: str
    nodes: int
    ranks: int
    command: Tuple[str, ...]
    spares: int
    min_nodes: int
    on_host_loss: str
    restarts: int
    successors: int
    silence: float
    time: int
    grace: int
    checkpoints: str
    every: str
    keep: int
    management: str
    compute: str
    gres: Optional[str]
    workdir: Optional[str]
    local: bool


def read(argv: Sequence[str]) -> Options:
    """The options of the command line; what follows `--` is the command.

    Raises:
        SystemExit: an option is missing or not understood.
    """
    arguments = list(argv)
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    parsed = vars(_parser().parse_args(arguments[:cut]))
    return Options(command=tuple(arguments[cut + 1 :]), **parsed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="supervisor", description="Keeps one training alive on the hosts of one job."
    )
    parser.add_argument("--run", required=True, help="folder of the run, on shared storage")
    parser.add_argument("--nodes", type=int, required=True, help="hosts that train")
    parser.add_argument("--ranks", type=int, required=True, help="ranks on each host")
    parser.add_argument("--spares", type=int, default=0, help="hosts held ready beyond those")
    parser.add_argument(
        "--min-nodes", type=int, required=True, help="fewest hosts to go on with, for `shrink`"
    )
    parser.add_argument(
        "--on-host-loss", choices=("spare", "shrink", "successor", "fail"), default="successor"
    )
    parser.add_argument("--restarts", type=int, default=3, help="restarts in place after a rank died")
    parser.add_argument(
        "--successors", type=int, default=5, help="jobs that may take over, one after the other"
    )
    parser.add_argument(
        "--silence", type=float, default=5, help="seconds of silence after which a host counts as lost"
    )
    parser.add_argument("--time", type=int, default=0, help="time limit of the job in seconds; 0 for none")
    parser.add_argument("--grace", type=int, default=30, help="seconds that ranks get to save and leave")
    parser.add_argument("--checkpoints", required=True, help="folder of the checkpoints")
    parser.add_argument("--every", required=True, help="steps:N or seconds:N between checkpoints")
    parser.add_argument("--keep", type=int, default=3, help="newest checkpoints that are kept")
    parser.add_argument("--management", required=True, help="network of the heartbeats, as 10.0.0.0/24")
    parser.add_argument("--compute", required=True, help="network of the ranks, as 10.0.1.0/24")
    parser.add_argument("--gres", help="what Slurm gives each host, as gpu:a100:4")
    parser.add_argument("--workdir", help="where the command runs; the run's folder if left out")
    parser.add_argument("--local", action="store_true", help="local processes stand for the hosts")
    return parser
