"""The job file."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from clusterwright.spec.field import Section, refuse, setting
from clusterwright.spec.names import (
    AccountName,
    CommandItem,
    HostPath,
    Image,
    Line,
    VariableName,
    Word,
)
from clusterwright.spec.parallel import Parallel
from clusterwright.spec.quantities import Duration
from clusterwright.units import DURATION_PATTERN, QuantityError, parse_duration

_STEPS = re.compile(r"([0-9]{1,12}) ?steps?")
_MAX_NODES = 65536  # Slurm's own MAX_SLURM_NODES is 64 * 1024
_YEAR_S = 366 * 86400


class Every(Section):
    """How often: after so many steps, or after so many seconds."""

    steps: int | None = None
    seconds: int | None = None


def _every(value: Any) -> Every:
    mend = "write it as 100 steps or 10m"
    if isinstance(value, Every):
        return value
    if not isinstance(value, str):
        raise refuse("bad-quantity", f"`{value}` has no unit", mend)
    match = _STEPS.fullmatch(value.strip())
    try:
        every = Every(steps=int(match[1])) if match else Every(seconds=parse_duration(value))
    except QuantityError as why:
        raise refuse("bad-quantity", f"{why.message}, and not a number of steps", mend) from why
    if not (every.steps or every.seconds):
        raise refuse("bad-quantity", f"`{value}` is nothing", mend)
    return every


def _plain(value: Any) -> str | int | float | bool:
    if not isinstance(value, str | int | float | bool):
        raise refuse("wrong-type", "an argument is one text, number or true/false", "write it as one value")
    return value


HowOften = Annotated[
    Every,
    BeforeValidator(_every),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": rf"^([0-9]{{1,12}} ?steps?|{DURATION_PATTERN})$",
            "examples": ["100 steps", "10m"],
            "form": "so many steps, or a duration",
        }
    ),
]
Argument = Annotated[str | int | float | bool, BeforeValidator(_plain)]


class Checkpoint(Section):
    """What is kept of a training, and how often."""

    folder: HostPath | None = setting(
        "Where checkpoints go, on shared storage; `checkpoints` in the run's folder if left out."
        " An old one there is resumed.",
        default=None, example="/shared/alice/gpt",
    )  # fmt: skip
    every: HowOften = setting("How often.", default="10m", example="100 steps")
    # Two: while one is being written, or is torn, there must be a good one.
    keep: int = setting(
        "How many of the newest are kept; never fewer than two.",
        default=3, example="3", least=2, most=1000,
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
    # A beat is sent every second: below two of them a host would be lost by mere delay.
    host_silence: Duration = setting(
        "Silence after which a host counts as lost.", default="5s", example="5s", least=2, most=3600
    )


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
    modules: tuple[Word, ...] = setting("Environment modules to load.", default=(), example="[cuda]")


class Container(Section):
    """A container image to run in (enroot and pyxis)."""

    image: Image = setting("Image: an enroot URI or a .sqsh path.", example="/shared/images/torch.sqsh")
    mounts: tuple[HostPath, ...] = setting(
        "Folders of the host seen inside, under the same path.", default=(), example="[/shared]"
    )


class Data(Section):
    """A folder that the training reads."""

    path: HostPath = setting("Where it is, on shared storage.", example="/shared/data/text")
    stage: Literal["none", "local"] = setting(
        "local: copied to every host's scratch first.", default="none", example="local"
    )


class Job(Section):
    """The whole training, as job.yaml says it."""

    name: Word = setting("Name of the run.", example="gpt-small")
    command: Annotated[tuple[CommandItem, ...], Field(min_length=1)] | None = setting(
        "Script and arguments, one item each; launched by torchrun.",
        default=None, example='[train.py, --lr, "1e-3"]',
    )  # fmt: skip
    recipe: Literal["gpt"] | None = setting(
        "One of our own trainings, in place of a command.", default=None, example="gpt"
    )
    arguments: dict[Word, Argument] = setting("Arguments of the recipe.", default={}, example="{steps: 300}")
    nodes: int = setting("Hosts.", default=1, example="2", least=1, most=_MAX_NODES)
    gpus_per_node: int = setting(
        "GPUs, and so processes, on each host.", default=1, example="8", least=1, most=128
    )
    time: Duration = setting("Time limit.", example="12h", least=60, most=_YEAR_S)
    partition: Word | None = setting(
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
    checkpoint: Checkpoint = setting("What is kept, and how often.", default=Checkpoint)
    environment: Environment = setting("What the processes find.", default=Environment)
    container: Container | None = setting("Container image.", default=None)
    data: tuple[Data, ...] = setting("Folders that the training reads.", default=())
