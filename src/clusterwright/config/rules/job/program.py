"""Rules about the program of a job: arguments, launcher, array, image, data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from math import prod
from pathlib import PurePosixPath

from clusterwright.config.clash import Clash, is_within, names
from clusterwright.config.job import Job
from clusterwright.config.names import is_secret
from clusterwright.config.recipes import Value, arguments_of
from clusterwright.errors import closest_name
from clusterwright.i18n import N_, _
from clusterwright.onhost.adapters import registry
from clusterwright.onhost.adapters.adapter import has


def program(job: Job) -> Iterator[Clash]:
    """Check that a job has exactly one of command, program and recipe, and `command` is well-formed.

    `arguments` needs a recipe.
    """
    entry_points = [name for name in ("command", "program", "recipe") if getattr(job, name) is not None]
    if not entry_points:
        message = _("the job has no command, program or recipe")
        fix = _("add `command: [train.py]`, `program: [./simulate]` or `recipe: gpt`")
        yield Clash("command-or-recipe", message, fix, ((),))
    if len(entry_points) > 1:
        message = _("the job sets {fields}, but runs only one program", fields=names(entry_points))
        sides = tuple((name,) for name in entry_points)
        yield Clash("command-or-recipe", message, _("remove all but one"), sides, is_presence=True)
    yield from _command(job.command or ())
    if job.arguments and job.recipe is None:
        yield Clash(
            "arguments-without-recipe",
            _("`arguments` are for a recipe, but the job has no recipe"),
            _('write the arguments into the command: [train.py, --steps, "300"]'),
            (("arguments",),),
            needs=(("recipe",),),
        )


def _command(command: Sequence[str]) -> Iterator[Clash]:
    """Check that `command` has the arguments of Python, without Python itself and with one word in each item.

    Only a single item that begins with a .py file counts as several words.
    """
    arguments = list(command)
    if len(arguments) == 1 and " " in arguments[0] and not arguments[0].endswith(" "):
        arguments = arguments[0].split()
    has_python = len(arguments) > 1 and re.fullmatch(r"(.*/)?python(3(\.\d+)?)?", arguments[0])
    if not has_python and (len(command) > 1 or len(arguments) < 2 or not arguments[0].endswith(".py")):
        return
    message = (
        _("`command` starts with {python}, which each rank starts by itself", python=arguments[0])
        if has_python
        else _("`command` has one item for several words")
    )
    script_arguments = arguments[1:] if has_python else arguments
    from clusterwright.config.fields import written

    fix = _("write command: {items}", items=written(tuple(script_arguments)))
    yield Clash("command-or-recipe", message, fix, (("command",),))


_KINDS = {bool: N_("true or false"), int: N_("an integer"), float: N_("a number"), str: N_("a string")}


def arguments(job: Job) -> Iterator[Clash]:
    """Check that the recipe, if there is one, has each argument of `arguments` and `sweep`, and accepts the values."""
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
            texts = {"name": name, "recipe": job.recipe, "kind": _(_KINDS[type(usual)]), "value": wrong[0]}
            message = _("{name} of recipe {recipe} must be {kind}, not `{value}`", **texts)
            if usual == "":
                fix = _('write {name}: "..."', name=name)
            else:
                fix = _("write a value such as {default}, the default", default=str(usual).lower())
            yield Clash("recipe-argument", message, fix, (loc,))


def _unknown(recipe: str, name: str, loc: tuple[str, str], recipe_arguments: dict[str, Value]) -> Clash:
    if suggestion := closest_name(name.replace("-", "_"), recipe_arguments):
        fix = _("did you mean `{suggestion}`?", suggestion=suggestion)
    else:
        fix = _("use one of {names}", names=", ".join(recipe_arguments))
    message = _("recipe {recipe} has no argument `{name}`", recipe=recipe, name=name)
    return Clash("recipe-argument", message, fix, (loc,))


def _takes(kind: type[Value], value: Value) -> bool:
    """Return whether a value converts to the type, as on the command line: a number may be a string."""
    if kind is bool or isinstance(value, bool):
        return kind is type(value)
    try:
        kind(str(value))
    except ValueError:
        return False
    return True


def launcher(job: Job) -> Iterator[Clash]:
    """Check that a launcher without supervisor is not used with spare or shrink, a container, or warm imports.

    With a supervised launcher, check that it starts tasks if the framework needs Slurm or MPI tasks.
    """
    if registry.launcher(job.launcher).is_supervised:
        yield from _tasks(job)
        return
    policy = job.recovery.on_host_loss
    for is_needed, loc, feature in (
        (policy in ("spare", "shrink"), ("recovery", "on_host_loss"), f"on_host_loss: {policy}"),
        (job.container is not None, ("container",), "container"),
        (bool(job.warm.imports), ("warm", "imports"), "warm.imports"),
    ):
        if is_needed:
            message = _(
                "launcher `{launcher}` does not support `{feature}`", launcher=job.launcher, feature=feature
            )
            fix = _("set `launcher: agent`, or remove `{feature}`", feature=feature)
            yield Clash("launcher-cannot", message, fix, (("launcher",), loc))


def _tasks(job: Job) -> Iterator[Clash]:
    """Check that the launcher, if the file sets one, starts tasks: for a framework that needs Slurm or MPI tasks."""
    starts = registry.adapter(job.framework).launcher
    if not registry.launcher(starts).is_supervised and "launcher" in job.model_fields_set:
        yield Clash(
            "launcher-cannot",
            _(
                "{framework} needs each process to be a Slurm or MPI task, but launcher `{launcher}` starts no tasks",
                framework=job.framework,
                launcher=job.launcher,
            ),
            _("set `launcher: {launcher}`, or remove the line", launcher=starts),
            (("launcher",), ("framework",)),
        )


MOST = 1001  # default of MaxArraySize in slurm.conf(5)


def array(job: Job) -> Iterator[Clash]:
    """Check that a job has not both `array` and `sweep`, a sweep fits MaxArraySize, and runs share no folder.

    Nor may they share an upload target for checkpoints.
    """
    if job.array and job.sweep:
        yield Clash(
            "array-and-sweep",
            _("the job sets both `array` and `sweep`, but a sweep is itself an array"),
            _("remove `array` or `sweep`"),
            (("array",), ("sweep",)),
        )
    runs = prod(len(values) for values in job.sweep.values())
    if runs >= MOST:
        yield Clash(
            "array-too-large",
            _(
                "the sweep has {runs} runs, but a Slurm job array has at most {limit}",
                runs=runs,
                limit=MOST - 1,
            ),
            _("reduce the values, or submit the sweep in parts"),
            (("sweep",),),
        )
    if (job.array or job.sweep) and job.checkpoint.folder:
        yield Clash(
            "array-one-folder",
            _("all runs of the array would write checkpoints to {folder}", folder=job.checkpoint.folder),
            _("remove checkpoint.folder: each run then has its own folder"),
            (("checkpoint", "folder"), ("array",) if job.array else ("sweep",)),
        )
    if (job.array or job.sweep) and job.checkpoint.upload_to:
        yield Clash(
            "array-one-folder",
            _("all runs of the array would upload checkpoints to {target}", target=job.checkpoint.upload_to),
            _("remove checkpoint.upload_to, or submit the runs one by one with a prefix for each"),
            (("checkpoint", "upload_to"), ("array",) if job.array else ("sweep",)),
        )


# The image's own system (hier(7)), mounts of the runtime, and our agent.
_RESERVED_PATHS = (
    "/bin", "/dev", "/etc", "/lib", "/lib64", "/opt/clusterwright", "/proc", "/run", "/sbin", "/sys",
    "/tmp", "/usr", "/var",  # nosec B108 # noqa: S108 (named so that nothing is mounted there)
)  # fmt: skip


def container_mounts(job: Job) -> Iterator[Clash]:
    """Check that no mount overlaps a reserved path of the image, and none is repeated; nothing without a container."""
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
                    "a mount on {path} would hide {reserved_path}, which the image or our agent needs",
                    path=path,
                    reserved_path=reserved_path,
                ),
                _("mount a folder of data or code, such as /data; shared folders are always mounted"),
                (loc,),
            )
        elif path in mounts[:index]:
            message, first_loc = _("{path} is mounted twice", path=path), (*loc[:2], mounts.index(path))
            yield Clash("container-mount", message, _("remove one of the two mounts"), (loc, first_loc))


def secrets(job: Job) -> Iterator[Clash]:
    """Check that no environment variable in the job file has the name of a secret.

    Secrets belong in a file that only the user can read.
    """
    for name in filter(is_secret, job.environment.variables):
        yield Clash(
            "secret-in-job",
            _(
                "environment variable `{name}` looks like a secret, but others can read the script and the folder of "
                "a job",
                name=name,
            ),
            _(
                "write {name}=VALUE to ~/.config/clusterwright/secrets.env of the job's user on the cluster "
                "(chmod 600)",
                name=name,
            ),
            (("environment", "variables", name),),
            hidden=True,
        )


def batch(job: Job) -> Iterator[Clash]:
    """Check that a recipe's batch has a sample per replica, and the global batch in the command fits into microbatches.

    Batches that are not given pass, and a global batch beside sizes of a replica in the command.
    """
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
        message = _(
            "a batch of {batch} has fewer samples than there are replicas, {replicas}",
            batch=batch_size,
            replicas=replicas,
        )
        fix = _("set batch to {replicas} or more, or request fewer GPUs", replicas=replicas)
        yield Clash(
            "batch-indivisible", message, fix, (("arguments", "batch"), ("nodes",), ("gpus_per_node",))
        )
    if has(job.command or (), *options.replica_sizes):
        return
    global_batch = _number(job.command or (), options.global_batch)
    micro = _number(job.command or (), options.micro_batch) or (layout.micro_batch if layout else 1)
    if global_batch and global_batch % (micro * replicas):
        values = {"batch": global_batch, "micro": micro, "replicas": replicas}
        message = _(
            "a global batch of {batch} is not a multiple of micro-batch {micro} x {replicas} replicas",
            **values,
        )
        fix = _("set {option} to a multiple of {step}", option=options.global_batch, step=micro * replicas)
        yield Clash("batch-indivisible", message, fix, (("command",), ("nodes",), ("gpus_per_node",)))


def _number(command_line: Sequence[str], option: str) -> int | None:
    """Return the value of an option (`--x 8` or `--x=8`) on a command line.

    None without it or for no integer above 0.
    """
    for index, argument in enumerate(command_line):
        name, equals, value = argument.partition("=")
        if option and name == option:
            text = value if equals else next(iter(command_line[index + 1 : index + 2]), "")
            return int(text) or None if text.isdigit() else None
    return None


def data(job: Job) -> Iterator[Clash]:
    """Check that no staged folder is inside another one, which would copy it twice."""
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
                    "of the folders {path} and {other_path}, which are copied to local disks, one is inside the other",
                    path=path,
                    other_path=other_path,
                ),
                _("remove the inner folder: it is copied with the outer folder"),
                (("data", inner, "path"), ("data", first_index if inner == second else second, "path")),
            )
