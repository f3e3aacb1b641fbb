"""The job file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from clusterwright.config.field import Section, refuse, setting
from clusterwright.config.frequency import Frequency, MemoryCheckpointFrequency, Standstill
from clusterwright.config.names import (
    AccountName,
    ArrayRange,
    CommandItem,
    Earlier,
    HostPath,
    Identifier,
    Image,
    Line,
    ModuleName,
    VariableName,
)
from clusterwright.config.parallel import Parallel
from clusterwright.config.quantities import Duration, Size
from clusterwright.i18n import _
from clusterwright.onhost.adapters import registry
from clusterwright.units import GiB, MiB

_MAX_NODES = 65536  # Slurm's own MAX_SLURM_NODES is 64 * 1024
_YEAR_S = 366 * 86400


def _check_scalar(value: Any) -> str | int | float | bool:
    if not isinstance(value, str | int | float | bool):
        raise refuse(
            "wrong-type", _("an argument is one text, number or true/false"), _("write it as one value")
        )
    return value


Argument = Annotated[str | int | float | bool, BeforeValidator(_check_scalar)]
if TYPE_CHECKING:
    Framework = str
    Launcher = str
else:
    Framework = Literal[tuple(registry.framework_names())]
    Launcher = Literal[tuple(registry.launcher_names())]


class Checkpoint(Section):
    """What is kept of a training, and how often."""

    folder: HostPath | None = setting(
        "Where checkpoints go, on shared storage; `checkpoints` in the run's folder if left out."
        " An old one there is resumed.",
        default=None, example="/shared/alice/gpt",
    )  # fmt: skip
    every: Frequency = setting("How often.", default="10m", example="100 steps")
    # Two: while one is being written, or is torn, there must be a good one.
    save_total_limit: int = setting(
        "How many of the newest are kept; never fewer than two.",
        default=3, example="3", least=2, most=1000,
    )  # fmt: skip
    memory: MemoryCheckpointFrequency = setting(
        "How often the state is also copied into memory, here and on a neighbour: auto (at most 0.5 % of the time),"
        " a number of steps, or never.",
        default="auto", example="1 step",
    )  # fmt: skip
    best: Line | None = setting(
        "The newest checkpoint with the lowest value of this measure is kept too (`run.measure`).",
        default=None, example="validation",
    )  # fmt: skip


class Elastic(Section):
    """How few and how many hosts the job can run on."""

    min_nodes: int = setting("Fewest hosts to go on with.", example="2", least=1, most=_MAX_NODES)
    max_nodes: int | None = setting(
        "Most hosts to use; `nodes` if left out.", default=None, example="8", least=1, most=_MAX_NODES
    )


class Recovery(Section):
    """What happens when a rank or a host dies; nobody has to be there."""

    restarts: int = setting(
        "Restarts in place after a rank died.", default=3, example="3", least=0, most=1000
    )
    on_host_loss: Literal["spare", "shrink", "successor", "fail"] = setting(
        "spare: a host held ready takes over; shrink: the hosts left go on;"
        " successor: a new job takes over; fail: the job ends.",
        default="successor", example="spare",
    )  # fmt: skip
    spare_nodes: int = setting(
        "Hosts held ready inside the job, for `spare`.", default=0, example="1", least=0, most=_MAX_NODES
    )
    successors: int = setting(
        "How many new jobs may take over, one after the other.", default=5, example="5", least=0, most=1000
    )
    # Six beats, of which a busy host may miss five; below 2 s a loaded machine would be taken for a dead one.
    heartbeat_timeout: Duration = setting(
        "Silence after which a host counts as lost.", default="3s", example="5s", least=2, most=3600
    )
    hang: Standstill = setting(
        "Standstill after which ranks count as hung: auto learns it from the steps; or a time, or never.",
        default="auto", example="10m",
    )  # fmt: skip


class Warm(Section):
    """What is held ready on each host, so that a rank begins in a moment."""

    imports: tuple[ModuleName, ...] = setting(
        "Modules of your program to import ahead, beside torch.", default=(), example="[transformers]"
    )
    standby: bool = setting(
        "Whether a process with torch imported waits on each host; false starts each rank cold.",
        default=True, example="false",
    )  # fmt: skip


class Gradients(Section):
    """How ranks add up their gradients (DistributedDataParallel)."""

    bucket: Size | None = setting(
        "Gradients that travel together; torch's 25MiB if left out. What the program itself says comes first.",
        default=None, example="8MiB", least=MiB, most=64 * GiB,
    )  # fmt: skip
    compress: Literal["none", "bf16", "fp16", "int8", "power"] = setting(
        "bf16, fp16: 16 bits of each number travel, half the bytes; int8: 8 bits; power: PowerSGD, some hundredths."
        " Results are no longer those of 32 bits.",
        default="none", example="bf16",
    )  # fmt: skip
    rank: int = setting(
        "For `power`: directions of each matrix that travel; more are closer to the whole.",
        default=4, example="8", least=1, most=1024,
    )  # fmt: skip
    warm_up: int = setting(
        "For `power`: steps at the start whose gradients travel whole.",
        default=100, example="500", least=1, most=10**9,
    )  # fmt: skip
    hierarchical: bool = setting(
        "Whether ranks of a host add up among themselves first, and one sum of each host travels; for Gloo, as NCCL"
        " does so anyway.",
        default=False, example="true",
    )  # fmt: skip


class Outer(Section):
    """Ranks step by themselves, and meet each so many steps (DiLoCo); for networks that are slow beside the compute."""

    every: int = setting("Steps between two meetings.", example="50", least=1, most=10**6)
    lr: Annotated[float, Field(gt=0)] = setting(
        "How far all go towards the mean of where ranks got to: the outer learning rate.",
        default=0.7, example="0.7", most=10,
    )  # fmt: skip
    momentum: Annotated[float, Field(lt=1)] = setting(
        "Nesterov's, of the outer steps; 0 with `lr: 1` is a plain mean.",
        default=0.9, example="0.9", least=0,
    )  # fmt: skip
    bits: Literal[8, 16, 32] = setting(
        "Of each number that travels when ranks meet.", default=32, example="16"
    )
    warm_up: int = setting(
        "Steps at the start in which gradients travel as ever: what is learnt first suffers most.",
        default=0, example="1000", least=0, most=10**9,
    )  # fmt: skip


class Environment(Section):
    """What the processes find."""

    variables: dict[VariableName, Line] = setting(
        "Environment variables; each value is one line of text.", default={}, example='{OMP_NUM_THREADS: "8"}'
    )
    python: HostPath | None = setting(
        "Python to run; the cluster's if left out.", default=None, example="/opt/env/bin/python"
    )
    workdir: HostPath | None = setting(
        "Working folder on the hosts.", default=None, example="/shared/alice/code"
    )
    modules: tuple[Identifier, ...] = setting("Environment modules to load.", default=(), example="[cuda]")


class Container(Section):
    """A container image to run in; what starts it is what the cluster file offers."""

    image: Image = setting(
        "Image on shared storage: a folder (an OCI bundle), a .sqsh or a .sif file; or an address.",
        example="/shared/images/torch",
    )
    mounts: tuple[HostPath, ...] = setting(
        "Folders of the host seen inside, under the same path; homes and shared folders are anyway.",
        default=(),
        example="[/data]",
    )


class Code(Section):
    """A folder of this machine that is copied into the run when it is submitted; later edits do not change the run."""

    folder: Line = setting(
        "Where the code is on the machine that submits; a relative path begins at the job file.", example="."
    )
    exclude: tuple[Line, ...] = setting(
        "Names or paths that stay behind, beside what git ignores; * is any text.",
        default=(), example='[data, "*.pt"]',
    )  # fmt: skip
    limit: Size = setting(
        "What all of it may have at most.", default="64MiB", example="200MiB", least=1, most=4 * GiB
    )


class Data(Section):
    """A folder that the training reads."""

    path: HostPath = setting("Where it is, on shared storage.", example="/shared/data/text")
    stage: Literal["none", "local"] = setting(
        "local: copied once to every host's scratch before the ranks start, which find it behind"
        " $CLUSTERWRIGHT_STAGED; the team's next job finds it there.",
        default="none",
        example="local",
    )


Tracker = Literal["tensorboard", "mlflow", "wandb", "swanlab"]


class Job(Section):
    """The whole training, as job.yaml says it."""

    name: Identifier = setting("Name of the run.", example="gpt-small")
    command: Annotated[tuple[CommandItem, ...], Field(min_length=1)] | None = setting(
        "Script and arguments for Python, one item each.",
        default=None, example='[train.py, --lr, "1e-3"]',
    )  # fmt: skip
    program: Annotated[tuple[CommandItem, ...], Field(min_length=1)] | None = setting(
        "Any program and its arguments, in place of a command for Python.",
        default=None, example="[./simulate, input.toml]",
    )  # fmt: skip
    framework: Framework = setting(
        "What the program is written with: its ranks find what that wants, where nothing was said.",
        default="pytorch", example="lightning",
    )  # fmt: skip
    recipe: Literal["gpt", "llama", "bert", "resnet", "instruct"] | None = setting(
        "One of our own trainings, in place of a command.", default=None, example="gpt"
    )
    arguments: dict[Identifier, Argument] = setting(
        "Arguments of the recipe.", default={}, example="{steps: 300}"
    )
    nodes: int = setting("Hosts.", default=1, example="2", least=1, most=_MAX_NODES)
    gpus_per_node: int = setting(
        "GPUs, and so processes, on each host.", default=1, example="8", least=1, most=128
    )
    time: Duration = setting("Time limit.", example="12h", least=60, most=_YEAR_S)
    partition: Identifier | None = setting(
        "Slurm partition; the default one if left out.", default=None, example="train"
    )
    team: AccountName | None = setting("Team whose share it counts against.", default=None, example="vision")
    user: AccountName | None = setting(
        "Who runs it; whoever logs in if left out.", default=None, example="alice"
    )
    parallel: Parallel | None = setting(
        "How the model is cut over the GPUs; the program is told.", default=None
    )
    elastic: Elastic | None = setting("Range of hosts, for `on_host_loss: shrink`.", default=None)
    recovery: Recovery = setting("What happens when a rank or a host dies.", default=Recovery)
    warm: Warm = setting("What is held ready on each host.", default=Warm)
    launcher: Launcher = setting(
        "".join(f"{name}: {summary}. " for name, summary in registry.summaries().items()).strip(),
        default="agent", example="torchrun",
    )  # fmt: skip
    checkpoint: Checkpoint = setting("What is kept, and how often.", default=Checkpoint)
    gradients: Gradients = setting("How ranks add up their gradients.", default=Gradients)
    outer: Outer | None = setting(
        "Ranks that meet each so many steps alone; in each step, if left out.", default=None
    )
    environment: Environment = setting("What the processes find.", default=Environment)
    container: Container | None = setting("Container image.", default=None)
    code: Code | None = setting("The code, copied at submission.", default=None)
    array: ArrayRange | None = setting(
        "Runs of the same job by number, as `sbatch --array` takes them; each finds its own in SLURM_ARRAY_TASK_ID.",
        default=None, example='"0-9%2"',
    )  # fmt: skip
    sweep: dict[Identifier, Annotated[tuple[Argument, ...], Field(min_length=1)]] = setting(
        "Arguments with several values: a run for each combination, all in one array.",
        default={}, example="{lr: [0.1, 0.01]}",
    )  # fmt: skip
    dependencies: tuple[Earlier, ...] = setting(
        "Job ids or runs that must have finished well before this one begins.",
        default=(), example='["1234", gpt-small-20261121-131500]',
    )  # fmt: skip
    data: tuple[Data, ...] = setting("Folders that the training reads.", default=())
    trackers: tuple[Tracker, ...] = setting(
        "Trackers of experiments that are told what the run writes about itself: losses, rates, speed, measures."
        " Their settings are their own variables, keys come from the user's secrets.",
        default=(), example="[tensorboard, mlflow]",
    )  # fmt: skip
