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
from clusterwright.errors import closest_name
from clusterwright.i18n import _
from clusterwright.onhost.adapters import registry


def program(job: Job) -> Iterator[Clash]:
    """There is one of a command, a program and a recipe, and arguments are those of a recipe."""
    entry_points = [name for name in ("command", "program", "recipe") if getattr(job, name) is not None]
    if not entry_points:
        message, fix = (
            "the job has neither a command nor a program nor a recipe",
            "add `command: [train.py]`, `program: [./simulate]` or `recipe: gpt`",
        )
        yield Clash("command-or-recipe", message, fix, ((),))
    if len(entry_points) > 1:
        message, fix = f"the job has a {' and a '.join(entry_points)}", "keep one of them"
        yield Clash("command-or-recipe", message, fix, tuple((name,) for name in entry_points))
    if job.arguments and job.recipe is None:
        yield Clash(
            "arguments-without-recipe",
            _("arguments are those of a recipe, and the job has none"),
            _('write them into the command: [train.py, --steps, "300"]'),
            (("arguments",),),
        )


_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def arguments(job: Job) -> Iterator[Clash]:
    """The recipe knows each, those of a sweep as well, and takes its values."""
    if job.recipe is None:
        return
    recipe_arguments = arguments_of(job.recipe)
    argument_items = [(name, (("arguments", name), (value,))) for name, value in job.arguments.items()]
    swept = [(name, (("sweep", name), values)) for name, values in job.sweep.items()]
    for name, (loc, values) in (*argument_items, *swept):
        usual = recipe_arguments.get(name.replace("-", "_"))
        if usual is None:
            yield _unknown(job.recipe, name, loc, recipe_arguments)
        elif wrong := [value for value in values if not _takes(type(usual), value)]:
            yield Clash(
                "recipe-argument",
                _(
                    "{name} of recipe {recipe} is {kinds}, not `{wrong}`",
                    name=name,
                    recipe=job.recipe,
                    kinds=_KINDS[type(usual)],
                    wrong=wrong[0],
                ),
                _("where nothing is said it is {usual}", usual=str(usual).lower())
                if usual != ""
                else _('write {name}: "..."', name=name),
                (loc,),
            )


def _unknown(recipe: str, name: str, loc: tuple[str, str], recipe_arguments: dict[str, Value]) -> Clash:
    suggestion = closest_name(name.replace("-", "_"), recipe_arguments)
    fix = (
        _("did you mean `{suggestion}`?", suggestion=suggestion)
        if suggestion
        else _("it has {recipe_arguments}", recipe_arguments=", ".join(recipe_arguments))
    )
    return Clash(
        "recipe-argument",
        _("recipe {recipe} has no argument `{name}`", recipe=recipe, name=name),
        fix,
        (loc,),
    )


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
    for is_needed, loc, feature in (
        (
            job.recovery.on_host_loss in ("spare", "shrink"),
            ("recovery", "on_host_loss"),
            "goes on after a lost host",
        ),
        (job.container is not None, ("container",), "starts agents in an image"),
        (bool(job.warm.imports), ("warm", "imports"), "holds modules imported"),
    ):
        if is_needed:
            yield Clash(
                "launcher-cannot",
                _(
                    "the job {feature}, and launcher `{launcher}` does not",
                    feature=feature,
                    launcher=job.launcher,
                ),
                _("take `launcher: agent`, or take the other out"),
                (("launcher",), loc),
            )


def _tasks(job: Job) -> Iterator[Clash]:
    """A framework that reads Slurm's variables, or lists all hosts, goes with a launcher of tasks."""
    starts = registry.adapter(job.framework).launcher
    if not registry.launcher(starts).is_supervised and "launcher" in job.model_fields_set:
        yield Clash(
            "launcher-cannot",
            _(
                "each process of {framework} is a task of Slurm's or MPI's, and launcher "
                "`{launcher}` starts none",
                framework=job.framework,
                launcher=job.launcher,
            ),
            _("take `launcher: {starts}`, or leave it out", starts=starts),
            (("launcher",), ("framework",)),
        )


MOST = 1001  # slurm.conf(5): MaxArraySize, without a value of its own


def array(job: Job) -> Iterator[Clash]:
    """They are told by numbers or by values, not by both, and are no more than Slurm's array takes."""
    if job.array and job.sweep:
        yield Clash(
            "array-and-sweep",
            _("the job has an array and a sweep, which is an array, too"),
            _("keep one of them"),
            (("array",), ("sweep",)),
        )
    runs = prod(len(values) for values in job.sweep.values())
    if runs >= MOST:
        yield Clash(
            "array-too-large",
            _("the sweep makes {runs} runs, and an array of Slurm's takes {most}", runs=runs, most=MOST - 1),
            _("take fewer values, or submit it in parts"),
            (("sweep",),),
        )
    if (job.array or job.sweep) and job.checkpoint.folder:
        yield Clash(
            "array-one-folder",
            _("all runs would keep their checkpoints in {folder}", folder=job.checkpoint.folder),
            _("leave checkpoint.folder out: each run has a folder of its own"),
            (("checkpoint", "folder"), ("array",) if job.array else ("sweep",)),
        )


# The image's own system, what the runtime puts there, and our agent: hier(7).
_RESERVED_PATHS = (
    "/bin", "/dev", "/etc", "/lib", "/lib64", "/opt/clusterwright", "/proc", "/run", "/sbin", "/sys",
    "/tmp", "/usr", "/var",  # noqa: S108 (named so that nothing is mounted there)
)  # fmt: skip


def container_mounts(job: Job) -> Iterator[Clash]:
    """No mount over, within or above those, and none twice."""
    mounts = job.container.mounts if job.container else ()
    for index, path in enumerate(mounts):
        loc: tuple[str | int, ...] = ("container", "mounts", index)
        reserved_path = next(
            (top for top in _RESERVED_PATHS if is_within(path, top) or is_within(top, path)), None
        )
        if reserved_path:
            yield Clash(
                "container-mount",
                _(
                    "a mount on {path} would hide {reserved_path} of the image, which it needs or where "
                    "our agent is",
                    path=path,
                    reserved_path=reserved_path,
                ),
                _("show a folder of data or code, such as /data; shared folders are seen inside as they are"),
                (loc,),
            )
        elif path in mounts[:index]:
            yield Clash(
                "container-mount",
                _("{path} is mounted twice", path=path),
                _("keep it once"),
                (loc, (*loc[:2], mounts.index(path))),
            )


def secrets(job: Job) -> Iterator[Clash]:
    """Variables that are named like secrets are in a file of their own, which only the user can read."""
    for name in filter(is_secret, job.environment.variables):
        yield Clash(
            "secret-in-job",
            _(
                "environment variable `{name}` is a secret, and a job's script and folder can be "
                "read by others",
                name=name,
            ),
            _(
                "write {name}=VALUE into ~/.config/clusterwright/secrets.env of the job's user on "
                "the cluster (chmod 600)",
                name=name,
            ),
            (("environment", "variables", name),),
            hidden=True,
        )


def batch(job: Job) -> Iterator[Clash]:
    """A recipe's batch has a sample for each replica; a framework's own is whole microbatches of every replica."""
    layout, options = job.parallel, registry.adapter(job.framework)
    gpus = job.nodes * job.gpus_per_node
    replicas = max(1, gpus // layout.replica) if layout else gpus
    batch_size = job.arguments.get("batch")
    if (
        job.recipe
        and isinstance(batch_size, int)
        and not isinstance(batch_size, bool)
        and batch_size < replicas
    ):
        yield Clash(
            "batch-indivisible",
            _(
                "a batch of {batch_size} leaves some of {replicas} replicas without a sample",
                batch_size=batch_size,
                replicas=replicas,
            ),
            _("set batch to {replicas} or more, or take fewer GPUs", replicas=replicas),
            (("arguments", "batch"), ("nodes",), ("gpus_per_node",)),
        )
    global_batch = _number(job.command or (), options.global_batch)
    micro = _number(job.command or (), options.micro_batch) or (layout.micro_batch if layout else 1)
    if global_batch and global_batch % (micro * replicas):
        yield Clash(
            "batch-indivisible",
            _(
                "a global batch of {global_batch} is not whole microbatches of {micro} for "
                "{replicas} replicas",
                global_batch=global_batch,
                micro=micro,
                replicas=replicas,
            ),
            _(
                "set {global_batch} to a multiple of {micro}",
                global_batch=options.global_batch,
                micro=micro * replicas,
            ),
            (("command",), ("nodes",), ("gpus_per_node",)),
        )


def _number(command_line: Sequence[str], option: str) -> int | None:
    """The value of an option on a command line, where it is a whole number above 0."""
    for index, argument in enumerate(command_line):
        name, equals, value = argument.partition("=")
        if option and name == option:
            text = value if equals else next(iter(command_line[index + 1 : index + 2]), "")
            return int(text) or None if text.isdigit() else None
    return None


def data(job: Job) -> Iterator[Clash]:
    """No staged folder lies in another one: it would be copied twice."""
    staged = [
        (index, PurePosixPath(folder.path))
        for index, folder in enumerate(job.data)
        if folder.stage == "local"
    ]
    for (first_index, path), (second, other_path) in combinations(staged, 2):
        if path.is_relative_to(other_path) or other_path.is_relative_to(path):
            inner = second if other_path.is_relative_to(path) else first_index
            yield Clash(
                "data-nested",
                _(
                    "{path} and {other_path} are to be copied to local disk, and one lies in the other",
                    path=path,
                    other_path=other_path,
                ),
                _("take the inner one out: it comes with the other"),
                (("data", inner, "path"), ("data", first_index if inner == second else second, "path")),
            )
