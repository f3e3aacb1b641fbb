"""What runs: the training's command, and the supervisor's command line around it."""

from __future__ import annotations

from clusterwright.errors import WrightError
from clusterwright.spec.cluster import Cluster
from clusterwright.spec.job import Job

LIBRARY = "/opt/clusterwright/lib"  # decision 0001: what jobs import, on every host
SHORTEST_GRACE_S, LONGEST_GRACE_S = (
    20,
    300,
)  # a save takes seconds to minutes; Slurm may signal 60 s early anyway


def command(job: Job) -> tuple[str, ...]:
    """Arguments for Python: the job's own, or the recipe as a module with its options.

    Raises:
        WrightError: the job asks for something that this version does not do.
    """
    _refuse_what_is_not_done(job)
    if job.command is not None:
        return job.command
    arguments = dict(job.arguments)
    if job.parallel and job.parallel.micro_batch > 1:
        arguments["microbatch"] = job.parallel.micro_batch
    options = [item for name, value in arguments.items() for item in _option(name, value)]
    return ("-m", f"clusterwright.train.recipes.{job.recipe}", *options)


def grace_s(job: Job) -> int:
    """How long before the time limit the ranks are asked to save: a tenth of it, within bounds."""
    return max(SHORTEST_GRACE_S, min(LONGEST_GRACE_S, job.time // 10))


def python(job: Job, cluster: Cluster) -> str:
    """The Python with torch on the hosts."""
    return job.environment.python or cluster.software.python


def options(
    job: Job, run: str, *, compute: str, management: str, gres: str | None
) -> tuple[tuple[str, str], ...]:
    """The supervisor's options, in the order in which they are shown."""
    recovery = job.recovery
    pairs: list[tuple[str, str | int | None]] = [
        ("--run", run), ("--nodes", job.nodes), ("--ranks", job.gpus_per_node), ("--spares", recovery.spare_nodes),
        ("--min-nodes", job.elastic.min_nodes if job.elastic else job.nodes),
        ("--on-host-loss", recovery.on_host_loss), ("--restarts", recovery.restarts),
        ("--successors", recovery.successors), ("--silence", recovery.host_silence),
        ("--time", job.time), ("--grace", grace_s(job)),
        ("--checkpoints", job.checkpoint.folder or f"{run}/checkpoints"),
        ("--every", _every(job)), ("--keep", job.checkpoint.keep),
        ("--management", management), ("--compute", compute), ("--gres", gres),
        ("--workdir", job.environment.workdir),
    ]  # fmt: skip
    return tuple((name, str(value)) for name, value in pairs if value is not None)


def _every(job: Job) -> str:
    every = job.checkpoint.every
    return f"steps:{every.steps}" if every.steps else f"seconds:{every.seconds}"


def _option(name: str, value: str | float | bool) -> tuple[str, ...]:  # noqa: FBT001 (a value of the file, not a switch)
    """`steps: 300` is `--steps 300`; true is the bare option, false none."""
    option = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return (option,) if value else ()
    return (f"{option}={value}",)


def _refuse_what_is_not_done(job: Job) -> None:
    if job.container:
        raise WrightError.of(
            "container-not-done",
            f"job `{job.name}` asks for image `{job.container.image}`; as yet jobs run in the hosts' own Python",
            "leave `container:` out and name a Python with `environment.python`",
        )
    staged = next((data.path for data in job.data if data.stage == "local"), None)
    if staged:
        raise WrightError.of(
            "staging-not-done",
            f"job `{job.name}` asks to copy `{staged}` to local scratch; data is read from shared storage as yet",
            "set `stage: none`",
        )
