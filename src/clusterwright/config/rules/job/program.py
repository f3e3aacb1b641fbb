"""What a job runs: its program, arguments, launcher, image and data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import prod
from pathlib import PurePosixPath

from clusterwright.config.clash import Clash, is_within
from clusterwright.config.job import Job
from clusterwright.config.names import is_secret
from clusterwright.config.recipes import Value, arguments_of
from clusterwright.errors import did_you_mean
from clusterwright.onhost.adapters import registry


def program(job: Job) -> Iterator[Clash]:
    """There is one of a command, a program and a recipe, and arguments are those of a recipe."""
    said = [name for name in ("command", "program", "recipe") if getattr(job, name) is not None]
    if not said:
        message, mend = (
            "the job has neither a command nor a program nor a recipe",
            "add `command: [train.py]`, `program: [./simulate]` or `recipe: gpt`",
        )
        yield Clash("command-or-recipe", message, mend, ((),))
    if len(said) > 1:
        message, mend = f"the job has a {' and a '.join(said)}", "keep one of them"
        yield Clash("command-or-recipe", message, mend, tuple((name,) for name in said))
    if job.arguments and job.recipe is None:
        yield Clash(
            "arguments-without-recipe",
            "arguments are those of a recipe, and the job has none",
            'write them into the command: [train.py, --steps, "300"]',
            (("arguments",),),
        )


_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def arguments(job: Job) -> Iterator[Clash]:
    """The recipe knows each, those of a sweep as well, and takes its values."""
    if job.recipe is None:
        return
    known = arguments_of(job.recipe)
    said = [(name, (("arguments", name), (value,))) for name, value in job.arguments.items()]
    swept = [(name, (("sweep", name), values)) for name, values in job.sweep.items()]
    for name, (at, values) in (*said, *swept):
        usual = known.get(name.replace("-", "_"))
        if usual is None:
            yield _unknown(job.recipe, name, at, known)
        elif wrong := [value for value in values if not _takes(type(usual), value)]:
            yield Clash(
                "recipe-argument",
                f"{name} of recipe {job.recipe} is {_KINDS[type(usual)]}, not `{wrong[0]}`",
                f"where nothing is said it is {str(usual).lower()}"
                if usual != ""
                else f'write {name}: "..."',
                (at,),
            )


def _unknown(recipe: str, name: str, at: tuple[str, str], known: dict[str, Value]) -> Clash:
    meant = did_you_mean(name.replace("-", "_"), known)
    mend = f"did you mean `{meant}`?" if meant else f"it has {', '.join(known)}"
    return Clash("recipe-argument", f"recipe {recipe} has no argument `{name}`", mend, (at,))


def _takes(kind: type[Value], value: Value) -> bool:
    """As the command line would: a number may be written as a text."""
    if kind is bool or isinstance(value, bool):
        return kind is type(value)
    try:
        kind(str(value))
    except ValueError:
        return False
    return True


def launcher(job: Job) -> Iterator[Clash]:
    """Spares, fewer hosts and images go with a launcher that looks after its ranks; MPI and its like with tasks."""
    if registry.launcher(job.launcher).is_supervised:
        yield from _tasks(job)
        return
    for wants, at, what in (
        (
            job.recovery.on_host_loss in ("spare", "shrink"),
            ("recovery", "on_host_loss"),
            "goes on after a lost host",
        ),
        (job.container is not None, ("container",), "starts agents in an image"),
        (bool(job.warm.imports), ("warm", "imports"), "holds modules imported"),
    ):
        if wants:
            yield Clash(
                "launcher-cannot",
                f"the job {what}, and launcher `{job.launcher}` does not",
                "take `launcher: agent`, or take the other out",
                (("launcher",), at),
            )


def _tasks(job: Job) -> Iterator[Clash]:
    """A framework that reads Slurm's variables, or lists all hosts, goes with a launcher of tasks."""
    starts = registry.adapter(job.framework).launcher
    if not registry.launcher(starts).is_supervised and "launcher" in job.model_fields_set:
        yield Clash(
            "launcher-cannot",
            f"each process of {job.framework} is a task of Slurm's or MPI's, and launcher `{job.launcher}` starts none",
            f"take `launcher: {starts}`, or leave it out",
            (("launcher",), ("framework",)),
        )


MOST = 1001  # slurm.conf(5): MaxArraySize, without a value of its own


def array(job: Job) -> Iterator[Clash]:
    """They are told by numbers or by values, not by both, and are no more than Slurm's array takes."""
    if job.array and job.sweep:
        yield Clash(
            "array-and-sweep",
            "the job has an array and a sweep, which is an array, too",
            "keep one of them",
            (("array",), ("sweep",)),
        )
    runs = prod(len(values) for values in job.sweep.values())
    if runs >= MOST:
        yield Clash(
            "array-too-large",
            f"the sweep makes {runs} runs, and an array of Slurm's takes {MOST - 1}",
            "take fewer values, or submit it in parts",
            (("sweep",),),
        )
    if (job.array or job.sweep) and job.checkpoint.folder:
        yield Clash(
            "array-one-folder",
            f"all runs would keep their checkpoints in {job.checkpoint.folder}",
            "leave checkpoint.folder out: each run has a folder of its own",
            (("checkpoint", "folder"), ("array",) if job.array else ("sweep",)),
        )


# The image's own system, what the runtime puts there, and our agent: hier(7).
_TAKEN = (
    "/bin", "/dev", "/etc", "/lib", "/lib64", "/opt/clusterwright", "/proc", "/run", "/sbin", "/sys",
    "/tmp", "/usr", "/var",  # noqa: S108 (named so that nothing is mounted there)
)  # fmt: skip


def container_mounts(job: Job) -> Iterator[Clash]:
    """No mount over, within or above those, and none twice."""
    mounts = job.container.mounts if job.container else ()
    for index, path in enumerate(mounts):
        at: tuple[str | int, ...] = ("container", "mounts", index)
        taken = next((top for top in _TAKEN if is_within(path, top) or is_within(top, path)), None)
        if taken:
            yield Clash(
                "container-mount",
                f"a mount on {path} would hide {taken} of the image, which it needs or where our agent is",
                "show a folder of data or code, such as /data; shared folders are seen inside as they are",
                (at,),
            )
        elif path in mounts[:index]:
            yield Clash(
                "container-mount",
                f"{path} is mounted twice",
                "keep it once",
                (at, (*at[:2], mounts.index(path))),
            )


def secrets(job: Job) -> Iterator[Clash]:
    """Variables that are named like secrets are in a file of their own, which only the user can read."""
    for name in filter(is_secret, job.environment.variables):
        yield Clash(
            "secret-in-job",
            f"environment variable `{name}` is a secret, and a job's script and folder can be read by others",
            f"write {name}=VALUE into ~/.config/clusterwright/secrets.env of the job's user on the cluster (chmod 600)",
            (("environment", "variables", name),),
            hidden=True,
        )


def batch(job: Job) -> Iterator[Clash]:
    """A recipe's batch has a sample for each replica; a framework's own is whole microbatches of every replica."""
    cut, options = job.parallel, registry.adapter(job.framework)
    gpus = job.nodes * job.gpus_per_node
    replicas = max(1, gpus // cut.replica) if cut else gpus
    said = job.arguments.get("batch")
    if job.recipe and isinstance(said, int) and not isinstance(said, bool) and said < replicas:
        yield Clash(
            "batch-indivisible",
            f"a batch of {said} leaves some of {replicas} replicas without a sample",
            f"set batch to {replicas} or more, or take fewer GPUs",
            (("arguments", "batch"), ("nodes",), ("gpus_per_node",)),
        )
    whole = _number(job.command or (), options.global_batch)
    micro = _number(job.command or (), options.micro_batch) or (cut.micro_batch if cut else 1)
    if whole and whole % (micro * replicas):
        yield Clash(
            "batch-indivisible",
            f"a global batch of {whole} is not whole microbatches of {micro} for {replicas} replicas",
            f"set {options.global_batch} to a multiple of {micro * replicas}",
            (("command",), ("nodes",), ("gpus_per_node",)),
        )


def _number(words: Sequence[str], option: str) -> int | None:
    """The value of an option on a command line, where it is a whole number above 0."""
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if option and name == option:
            text = value if equals else next(iter(words[index + 1 : index + 2]), "")
            return int(text) or None if text.isdigit() else None
    return None


def data(job: Job) -> Iterator[Clash]:
    """No staged folder lies in another one: it would be copied twice."""
    staged = [(index, PurePosixPath(one.path)) for index, one in enumerate(job.data) if one.stage == "local"]
    for (first, one), (second, other) in combinations(staged, 2):
        if one.is_relative_to(other) or other.is_relative_to(one):
            inner = second if other.is_relative_to(one) else first
            yield Clash(
                "data-nested",
                f"{one} and {other} are to be copied to local disk, and one lies in the other",
                "take the inner one out: it comes with the other",
                (("data", inner, "path"), ("data", first if inner == second else second, "path")),
            )
