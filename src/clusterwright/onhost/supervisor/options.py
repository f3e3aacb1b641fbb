"""What the sbatch script tells the supervisor: all of a job's policy, readable in the script itself."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Optional, Sequence, Tuple

# The last four are plain.py's
LAUNCHERS = ("agent", "torchrun", "static", "srun", "mpirun", "host", "batch")


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
    best: Optional[str]
    copies: str
    hang: str
    launcher: str
    framework: str
    standby: bool
    imports: Tuple[str, ...]
    management: str
    compute: str
    gres: Optional[str]
    workdir: Optional[str]
    inside: Optional[Tuple[str, ...]]  # runtime, image, mounts and Python, as inside.py reads them
    local: bool
    trackers: Tuple[str, ...] = ()


def read(argv: Sequence[str]) -> Options:
    """The options of the command line; what follows `--` is the command.

    Raises:
        SystemExit: an option is missing or not understood.
    """
    arguments = list(argv)
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    parsed = vars(_parser().parse_args(arguments[:cut]))
    parsed.update(
        standby=parsed["standby"] == "yes",
        imports=tuple(filter(None, parsed["imports"].split(","))),
        trackers=tuple(filter(None, parsed["trackers"].split(","))),
    )
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
    parser.add_argument("--restarts", type=int, default=3, help="restarts in a row that lead no further")
    parser.add_argument(
        "--successors", type=int, default=5, help="jobs that may take over, one after the other"
    )
    parser.add_argument(
        "--silence", type=float, default=3, help="seconds of silence after which a host counts as lost"
    )
    parser.add_argument("--time", type=int, default=0, help="time limit of the job in seconds; 0 for none")
    parser.add_argument("--grace", type=int, default=30, help="seconds that ranks get to save and leave")
    parser.add_argument("--checkpoints", required=True, help="folder of the checkpoints")
    parser.add_argument("--every", required=True, help="steps:N or seconds:N between checkpoints")
    parser.add_argument("--keep", type=int, default=3, help="newest checkpoints that are kept")
    parser.add_argument("--best", help="measure whose best checkpoint is kept too")
    parser.add_argument("--copies", default="auto", help="copies in memory: auto, never, or steps:N")
    parser.add_argument(
        "--hang", default="auto", help="standstill that counts as hung: auto, never, or seconds"
    )
    parser.add_argument("--launcher", choices=LAUNCHERS, default="agent")
    parser.add_argument("--framework", default="pytorch", help="whose wishes plain.py sees to")
    parser.add_argument("--standby", choices=("yes", "no"), default="yes", help="hold torch imported ready")
    parser.add_argument("--imports", default="", help="modules to import ahead, separated by commas")
    parser.add_argument("--management", required=True, help="network of the heartbeats, as 10.0.0.0/24")
    parser.add_argument("--compute", required=True, help="network of the ranks, as 10.0.1.0/24")
    parser.add_argument("--gres", help="what Slurm gives each host, as gpu:a100:4")
    parser.add_argument("--workdir", help="where the command runs; the run's folder if left out")
    parser.add_argument(
        "--inside", nargs=4, metavar=("RUNTIME", "IMAGE", "MOUNTS", "PYTHON"), help="agents run in it"
    )
    parser.add_argument(
        "--trackers", default="", help="trackers that are told of the run, separated by commas"
    )
    parser.add_argument("--local", action="store_true", help="local processes stand for the hosts")
    return parser
