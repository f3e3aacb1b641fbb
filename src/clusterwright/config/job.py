"""The job file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from clusterwright import plugins
from clusterwright.config.field import Section, refuse, setting
from clusterwright.config.names import (
    AccountName,
    CommandItem,
    HostPath,
    HttpAddress,
    Identifier,
    Image,
    Line,
    ModuleName,
    ObjectAddress,
    VariableName,
    matching,
)
from clusterwright.config.parallel import Parallel
from clusterwright.config.quantities import Duration, Frequency, MemoryCheckpointFrequency, Size, Standstill
from clusterwright.i18n import N_, _
from clusterwright.onhost.adapters import registry
from clusterwright.onhost.launchers import __path__ as launcher_folders
from clusterwright.units import GiB, MiB

_MAX_NODES = 65536  # Slurm's own MAX_SLURM_NODES is 64 * 1024
_YEAR_S = 366 * 86400


_RANGE = r"[0-9]{1,7}(-[0-9]{1,7}(:[1-9][0-9]{0,6})?)?"
_ARRAY = rf"{_RANGE}(,{_RANGE})*(%[1-9][0-9]*)?"
_EARLIER = r"[1-9][0-9]{0,9}|[A-Za-z][A-Za-z0-9_.-]{0,95}"  # a job id, or the name of a run
_SLURM_CONDITION = re.compile(r"(after\w*):([\w:+.-]+)")


def _ascending(text: str) -> str:
    """Return the array unchanged; refuse a range from a higher to a lower number, which has no runs."""
    for part in text.partition("%")[0].split(","):
        low, _hyphen, high = part.partition(":")[0].partition("-")
        if high and int(low) > int(high):
            ascending = text.replace(f"{low}-{high}", f"{high}-{low}", 1)
            message = _("`{text}` has a descending range; it is {ascending}", text=text, ascending=ascending)
            raise refuse("bad-name", message, _('write "{ascending}"', ascending=ascending))
    return text


def _without_condition(value: object) -> object:
    """Return the value unchanged; refuse a condition of Slurm, such as afterok:1234."""
    match = _SLURM_CONDITION.fullmatch(value) if isinstance(value, str) else None
    if not match:
        return value
    jobs = ",".join(re.split(r"[:+]", match[2]))
    message = _("`{value}` has a condition of Slurm", value=value)
    if match[1] == "afterok":
        raise refuse("bad-name", message, _("write {jobs}: each must finish successfully", jobs=jobs))
    fix = _(
        "write {jobs}; {condition} does not exist here: each must finish successfully",
        jobs=jobs,
        condition=match[1],
    )
    raise refuse("bad-name", message, fix)


ArrayRange = Annotated[
    str,
    *matching(_ARRAY, N_("an array range"), N_('write a range for --array: "0-9", "1,3,5" or "0-9%2"')),
    AfterValidator(_ascending),
]
Earlier = Annotated[
    str,
    BeforeValidator(_without_condition),
    *matching(
        _EARLIER,
        N_("a job id or a run"),
        N_('write a job id in quotes, such as "1234", or the name of a run'),
    ),
]


def _check_scalar(value: Any) -> str | int | float | bool:
    if not isinstance(value, str | int | float | bool):
        message = _("the argument is not a string, a number, true or false")
        raise refuse("wrong-type", message, _("write a single value"))
    return value


Argument = Annotated[str | int | float | bool, BeforeValidator(_check_scalar)]
launcher_folders += dict.fromkeys(str(path.parent) for _plugin, path in plugins.launchers().values())
if TYPE_CHECKING:
    Framework = str
    Launcher = str
else:
    Framework = Literal[tuple(registry.framework_names())]
    Launcher = Literal[tuple(registry.launcher_names())]


class Checkpoint(Section):
    """Checkpoints: where, how often, and how many are retained."""

    folder: HostPath | None = setting(
        "Folder for checkpoints on shared storage; default: `checkpoints` in the run's folder."
        " The newest checkpoint in it is resumed.",
        default=None, example="/shared/alice/gpt",
    )  # fmt: skip
    every: Frequency = setting("Checkpoint interval.", default="10m", example="100 steps")
    # At least two: one stays valid while another is written or torn.
    save_total_limit: int = setting(
        "Number of the newest checkpoints that are retained, at least 2.",
        default=3, example="3", least=2, most=1000,
    )  # fmt: skip
    memory: MemoryCheckpointFrequency = setting(
        "Interval of in-memory checkpoints, on the host and on a peer: auto (at most 0.5 % of the training time),"
        " a number of steps, or never.",
        default="auto", example="1 step",
    )  # fmt: skip
    best: Line | None = setting(
        "Measure (`run.measure`) whose lowest value also retains a checkpoint.",
        default=None, example="validation",
    )  # fmt: skip
    upload_to: ObjectAddress | None = setting(
        "Bucket and prefix in object storage (S3, Ceph RGW, MinIO and others) to which each verified checkpoint is"
        " uploaded, with the same retention. The newest upload is restored where the folder has none as new.",
        default=None,
        example="s3://models/gpt",
    )
    endpoint: HttpAddress | None = setting(
        "Address of the object storage; default: that of the cluster, else AWS. Credentials are not set here: boto3"
        " finds them in the environment, ~/.aws or the instance's role.",
        default=None,
        example="https://rgw.example.org",
    )


class Elastic(Section):
    """The range of hosts that the training can run on."""

    min_nodes: int = setting(
        "Minimum number of hosts with which the training continues.", example="2", least=1, most=_MAX_NODES
    )
    max_nodes: int | None = setting(
        "Maximum number of hosts that the training uses; default: `nodes`.",
        default=None,
        example="8",
        least=1,
        most=_MAX_NODES,
    )


class Recovery(Section):
    """Automatic recovery from failed ranks and lost hosts."""

    restarts: int = setting(
        "Maximum restarts in place after failures of ranks.", default=3, example="3", least=0, most=1000
    )
    on_host_loss: Literal["spare", "shrink", "successor", "fail"] = setting(
        "spare: a standby host takes over; shrink: the training continues on the remaining hosts;"
        " successor: a new job continues; fail: the job ends.",
        default="successor", example="spare",
    )  # fmt: skip
    spare_nodes: int = setting(
        "Number of standby hosts in the job's allocation, for `on_host_loss: spare`.",
        default=0,
        example="1",
        least=0,
        most=_MAX_NODES,
    )
    successors: int = setting("Maximum number of successor jobs.", default=5, example="5", least=0, most=1000)
    # Six heartbeats, of which a busy host may miss five; below 2 s a loaded host would be detected as lost.
    heartbeat_timeout: Duration = setting(
        "Time without a heartbeat after which a host is lost.", default="3s", example="5s", least=2, most=3600
    )
    hang: Standstill = setting(
        "Time without progress after which ranks are hung: auto (learned from the steps), a duration, or never.",
        default="auto", example="10m",
    )  # fmt: skip


class Warm(Section):
    """Warm start of ranks: a process on each host with modules already imported."""

    imports: tuple[ModuleName, ...] = setting(
        "Modules of the program to import in advance, besides torch.", default=(), example="[transformers]"
    )
    standby: bool = setting(
        "Keep a process with torch imported on each host; false: each rank imports torch itself.",
        default=True, example="false",
    )  # fmt: skip


class Gradients(Section):
    """All-reduce of gradients (DistributedDataParallel)."""

    bucket: Size | None = setting(
        "Gradient bucket size; default: torch's 25MiB. The program's own setting takes precedence.",
        default=None, example="8MiB", least=MiB, most=64 * GiB,
    )  # fmt: skip
    compress: Literal["none", "bf16", "fp16", "int8", "power"] = setting(
        "Gradient compression: bf16, fp16: 16 bits, half the bytes; int8: 8 bits; power: PowerSGD, a few percent."
        " Results differ from those of 32 bits.",
        default="none", example="bf16",
    )  # fmt: skip
    rank: int = setting(
        "For PowerSGD (`power`): rank of the low-rank approximation of each gradient; higher "
"is more accurate.",
        default=4, example="8", least=1, most=1024,
    )  # fmt: skip
    warm_up: int = setting(
        "For `power`: steps at the start without compression.",
        default=100, example="500", least=1, most=10**9,
    )  # fmt: skip
    hierarchical: bool = setting(
        "Reduce within each host first, then between hosts; for Gloo, because NCCL"
        " does so anyway.",
        default=False, example="true",
    )  # fmt: skip


class Outer(Section):
    """DiLoCo: ranks train independently and synchronize every few steps; for networks slow relative to compute."""

    every: int = setting(
        "Training steps between two synchronizations of the ranks.", example="50", least=1, most=10**6
    )
    lr: Annotated[float, Field(gt=0)] = setting(
        "Learning rate of the outer optimizer.",
        default=0.7, example="0.7", most=10,
    )  # fmt: skip
    momentum: Annotated[float, Field(lt=1)] = setting(
        "Nesterov momentum of the outer optimizer; 0 with `lr: 1` averages the weights.",
        default=0.9, example="0.9", least=0,
    )  # fmt: skip
    bits: Literal[8, 16, 32] = setting(
        "Bits of each number sent in a synchronization.", default=32, example="16"
    )
    warm_up: int = setting(
        "Steps at the start with an all-reduce in each step, because early training is the most sensitive.",
        default=0, example="1000", least=0, most=10**9,
    )  # fmt: skip


class Environment(Section):
    """Python, modules and environment variables of the processes."""

    variables: dict[VariableName, Line] = setting(
        "Environment variables; each value is one line of text.", default={}, example='{OMP_NUM_THREADS: "8"}'
    )
    python: HostPath | None = setting(
        "Path of the job's Python; default: the cluster's.", default=None, example="/opt/env/bin/python"
    )
    workdir: HostPath | None = setting(
        "Working directory of the program on the hosts.", default=None, example="/shared/alice/code"
    )
    modules: tuple[Identifier, ...] = setting("Environment modules to load.", default=(), example="[cuda]")


class Container(Section):
    """Container image of the training; the cluster file lists the container runtimes."""

    image: Image = setting(
        "Image on shared storage: a folder (OCI bundle), a .sqsh or .sif file; or a registry URI.",
        example="/shared/images/torch",
    )
    mounts: tuple[HostPath, ...] = setting(
        "Additional folders of the host to mount at the same path; homes and shared folders are always mounted.",
        default=(),
        example="[/data]",
    )


class Code(Section):
    """A code folder that is copied into the run at submission; later edits do not change the run."""

    folder: Line = setting(
        "Folder on the submitting machine; a relative path starts at the folder of the job file.", example="."
    )
    exclude: tuple[Line, ...] = setting(
        "Names or paths that are not copied, in addition to those that git ignores; * matches any text.",
        default=(), example='[data, "*.pt"]',
    )  # fmt: skip
    limit: Size = setting("Maximum total size.", default="64MiB", example="200MiB", least=1, most=4 * GiB)


class Data(Section):
    """A folder that the training reads."""

    path: HostPath = setting("Path of the folder on shared storage.", example="/shared/data/text")
    stage: Literal["none", "local"] = setting(
        "local: copied to every host's local scratch before the ranks start, which find it below"
        " $CLUSTERWRIGHT_STAGED; the user's next job reuses the copy.",
        default="none",
        example="local",
    )
    # Not in job.json: the batch script has the only record.
    share: Annotated[Literal["me", "team"], Field(exclude=True)] = setting(
        "Whose jobs reuse the copy: me: the user's own; team: those of the user's primary group, whose members are then"
        " trusted to copy the right data.",
        default="me",
        example="team",
    )


Tracker = Literal["tensorboard", "mlflow", "wandb", "swanlab"]


class Job(Section):
    """The whole training: the model of job.yaml."""

    name: Identifier = setting("Name of the run.", example="gpt-small")
    command: Annotated[tuple[CommandItem, ...], Field(min_length=1)] | None = setting(
        "Python script and its arguments, one item each.",
        default=None, example='[train.py, --lr, "1e-3"]',
    )  # fmt: skip
    program: Annotated[tuple[CommandItem, ...], Field(min_length=1)] | None = setting(
        "Any program and its arguments, in place of a Python command.",
        default=None, example="[./simulate, input.toml]",
    )  # fmt: skip
    framework: Framework = setting(
        "Framework of the program; sets its variables and options where the job file does not.",
        default="pytorch", example="lightning",
    )  # fmt: skip
    recipe: Literal["gpt", "llama", "bert", "resnet", "instruct"] | None = setting(
        "Training program delivered with Clusterwright, in place of a command.", default=None, example="gpt"
    )
    arguments: dict[Identifier, Argument] = setting(
        "Arguments of the recipe by name.", default={}, example="{steps: 300}"
    )
    nodes: int = setting("Number of hosts.", default=1, example="2", least=1, most=_MAX_NODES)
    gpus_per_node: int = setting(
        "GPUs, which is also the number of ranks, on each host.", default=1, example="8", least=1, most=128
    )
    time: Duration = setting("Time limit of each Slurm job.", example="12h", least=60, most=_YEAR_S)
    partition: Identifier | None = setting(
        "Slurm partition; default: the default partition.", default=None, example="train"
    )
    team: AccountName | None = setting(
        "Team that the job is charged to; default: the user's team.", default=None, example="vision"
    )
    user: AccountName | None = setting(
        "User that runs the job; default: the user that logs in.", default=None, example="alice"
    )
    # Not in job.json: the mode of the run's folder is the only record, so a run of an older version has one too.
    share: Annotated[Literal["me", "team", "everyone"], Field(exclude=True)] = setting(
        "Who else can read the run's folder: me: no other user; team: the Unix group of `team`, by default"
        " the user's primary group; everyone: all users.",
        default="team",
        example="me",
    )
    parallel: Parallel | None = setting("Parallel layout of the model; passed to the program.", default=None)
    elastic: Elastic | None = setting(
        "Range of the number of hosts, for `on_host_loss: shrink`.", default=None
    )
    recovery: Recovery = setting(
        "Recovery of the training from failed ranks and lost hosts.", default=Recovery
    )
    warm: Warm = setting(
        "Process on each host with modules imported in advance, from which ranks start faster.", default=Warm
    )
    launcher: Launcher = setting(
        "".join(f"{name}: {summary}. " for name, summary in registry.summaries().items()).strip(),
        default="agent", example="torchrun",
    )  # fmt: skip
    checkpoint: Checkpoint = setting("Checkpoints.", default=Checkpoint)
    gradients: Gradients = setting("All-reduce of gradients.", default=Gradients)
    outer: Outer | None = setting(
        "Synchronization every few steps (DiLoCo); not set: in each step.", default=None
    )
    environment: Environment = setting(
        "Python, modules and environment variables of the processes.", default=Environment
    )
    container: Container | None = setting("Container image of the training.", default=None)
    code: Code | None = setting("Code folder that is copied at submission.", default=None)
    array: ArrayRange | None = setting(
        "Job array, as for `sbatch --array`; each run has its number in SLURM_ARRAY_TASK_ID.",
        default=None, example='"0-9%2"',
    )  # fmt: skip
    sweep: dict[Identifier, Annotated[tuple[Argument, ...], Field(min_length=1)]] = setting(
        "Arguments with several values: one run for each combination, all in one job array.",
        default={}, example="{lr: [0.1, 0.01]}",
    )  # fmt: skip
    dependencies: tuple[Earlier, ...] = setting(
        "Job ids or runs that must complete successfully before this job starts.",
        default=(), example='["1234", gpt-small-20261121-131500]',
    )  # fmt: skip
    data: tuple[Data, ...] = setting("Folders that the training reads.", default=())
    trackers: tuple[Tracker, ...] = setting(
        "Experiment trackers that the run logs to: losses, learning rates, speed, measures."
        " Configure them by their own environment variables; API keys come from the user's secrets.",
        default=(), example="[tensorboard, mlflow]",
    )  # fmt: skip
