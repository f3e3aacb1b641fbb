"""The options of `wright train` that say what a job file would."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter


def _says(text: str) -> Parameter:
    return Parameter(help=text)


def _flag(text: str) -> Parameter:
    return Parameter(negative="", help=text)


@Parameter(name="*")
@dataclass(frozen=True)
class Typed:
    """The options as they were typed; what is left out is the job file's, or as a job file's default."""

    nodes: Annotated[int | None, _says("Hosts.")] = None
    gpus: Annotated[int | None, _says("GPUs, and so processes, on each host.")] = None
    partition: Annotated[str | None, _says("Slurm partition; the default one if left out.")] = None
    time: Annotated[
        str | None, _says("Time limit, e.g. 12h; of a program, 12h or what the partition gives.")
    ] = None
    name: Annotated[str | None, _says("Name of the run; of a program, its script's.")] = None
    framework: Annotated[str | None, _says("What the program is written with, e.g. lightning.")] = None
    launcher: Annotated[
        str | None,
        _says("agent, torchrun, static, srun, mpirun, host or batch; see `wright explain launcher`."),
    ] = None
    code: Annotated[
        str | None, _says("Folder that is copied into the run; of a program, where one is; none: nothing is.")
    ] = None
    array: Annotated[str | None, _says('Runs by number, e.g. "0-9%2".')] = None
    after: Annotated[
        str | None, _says("Job ids or runs that must have finished well, separated by commas.")
    ] = None

    set: Annotated[
        tuple[str, ...],
        Parameter(
            negative="", help="Any field of the job file by its path, e.g. recovery.hang=10m; repeatable."
        ),
    ] = ()

    def fields(self) -> dict[str, Any]:
        """Those that were said, as a job file says them."""
        said = {
            "nodes": self.nodes,
            "gpus_per_node": self.gpus,
            "partition": self.partition,
            "time": self.time,
            "name": self.name,
            "framework": self.framework,
            "launcher": self.launcher,
            "array": self.array,
            "code": {"folder": self.code} if self.code and self.code != "none" else None,
            "after": self.after.split(",") if self.after else None,
        }
        return {name: value for name, value in said.items() if value is not None}


@Parameter(name="*")
@dataclass(frozen=True)
class How:
    """What is to be done with the job."""

    cluster: Annotated[
        Path | None,
        _says(
            "The cluster file; else $CLUSTERWRIGHT_CLUSTER, ./cluster.yaml, or the one beside the job file."
        ),
    ] = None
    dry_run: Annotated[bool, _flag("Print the sbatch script, and do nothing.")] = False
    show: Annotated[
        bool, _flag("Print what the ranks will find in their environment, and from whom, and do nothing.")
    ] = False
    local: Annotated[bool, _flag("Run on this machine alone: without root, Slurm or a cluster file.")] = False
    folder: Annotated[Path, _says("With --local: where runs are kept.")] = Path("runs")
    follow: Annotated[
        bool, Parameter(name=("--follow", "-f"), negative="", help="Show the logs until the run has ended.")
    ] = False
    as_user: Annotated[str | None, Parameter(name="--as", help="Who runs it, when root submits it.")] = None
    resume: Annotated[str | None, _says("A run that ended: goes on from its newest checkpoint.")] = None


UNSAID, SUBMIT = Typed(), How()
