"""What a command finds wrong with a line beyond its single values: the job, the layout, the files of one command.

Each check gets the valid values of the line only, changes nothing and contacts nobody. It runs after another mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright.errors import Finding, WrightError
from clusterwright.i18n import _

if TYPE_CHECKING:
    from cyclopts.argument import Argument

    from clusterwright.config.cluster import Cluster

Values = Mapping[str, Any]


def line_findings(command: tuple[str, ...], arguments: Iterable[Argument]) -> Iterator[Finding]:
    """Yield what the command finds wrong with the values that are valid."""
    if check := _CHECKS.get(" ".join(command)):
        yield from check(dict(_valid(arguments)))


def _valid(arguments: Iterable[Argument]) -> Iterator[tuple[str, Any]]:
    from cyclopts import CycloptsError

    for argument in arguments:
        if argument.tokens and not argument.children:
            try:
                yield argument.name, argument.convert_and_validate()
            except (CycloptsError, WrightError, ValueError):
                continue


def _attempt(findings: list[Finding], call: Callable[[], Any]) -> Any:
    """Return what a call returns; None with its findings, or for what cannot be read, which the command reports."""
    try:
        return call()
    except WrightError as error:
        findings += error.findings
    except OSError:
        pass
    return None


def _fields(kind: type, values: Values) -> dict[str, Any]:
    """Return the arguments of a dataclass of options from the values of a line."""
    import dataclasses

    names = {field.name: f"--{field.name.replace('_', '-')}" for field in dataclasses.fields(kind)}
    return {name: values[option] for name, option in names.items() if option in values}


def _cluster(values: Values) -> Cluster | None:
    """Return the cluster of the file that a line names; None without one, or if it has errors."""
    from clusterwright.cli._connection import is_unmanaged
    from clusterwright.config.load import load_cluster

    path = values.get("--cluster")
    return None if path is None or is_unmanaged(path) else _attempt([], lambda: load_cluster(path))


def _train(values: Values) -> list[Finding]:
    from clusterwright.cli.train import Typed
    from clusterwright.launch.resolve import JOB_SUFFIXES, resolve_job
    from clusterwright.launch.typed_program import require_script

    findings: list[Finding] = []
    program: Sequence[str] = values.get("PROGRAM", ())
    if "--hostfile" in values:
        from clusterwright.launch.hosts.choose import AUTO
        from clusterwright.launch.hosts.hostfile import read_hostfile

        if str(values["--hostfile"]) != AUTO:
            _attempt(findings, lambda: read_hostfile(values["--hostfile"]))
    if not program:
        return findings
    cluster = None if values.keys() & {"--local", "--hostfile"} else _cluster(values)
    if program[0].endswith(JOB_SUFFIXES):
        program = program[:1]  # what follows is a mistake of its own, as is --set without =
    assignments = tuple(text for text in values.get("--set", ()) if "=" in text)
    overrides = Typed(**_fields(Typed, {**values, "--set": assignments})).overrides()
    resolved = _attempt(findings, lambda: resolve_job(program, overrides, cluster))
    option = next((name for name in ("--local", "--hostfile") if name in values), "")
    if resolved and option:
        from clusterwright.launch.local import require_supervised

        _attempt(findings, lambda: require_supervised(resolved.job, option))
    if resolved:
        _attempt(findings, lambda: require_script(resolved.job, resolved.base_folder))
    return findings


def _dev(values: Values) -> list[Finding]:
    from clusterwright.cli.dev import Common, session_options

    findings: list[Finding] = []
    if file := values.get("FILE"):
        from clusterwright.config.load import load_job

        _attempt(findings, lambda: load_job(file))
    if cluster := _cluster(values):
        from clusterwright.launch.dev import script

        _attempt(findings, lambda: session_options(Common(**_fields(Common, values)), cluster, None))
        others = {option: value for option, value in values.items() if option != "--environment"}
        if others.get("--partition") not in cluster.partitions:
            others.pop("--partition", None)  # the GPUs are judged by the default partition
        typed = Common(**_fields(Common, others))
        options = _attempt(findings, lambda: session_options(typed, cluster, None))
        if options:
            _attempt(findings, lambda: script(options, cluster))
    return findings


def _explain(values: Values) -> list[Finding]:
    from clusterwright.cli.plan._inputs import MachineOptions
    from clusterwright.cli.plan.explain import RunOptions, options_run

    findings: list[Finding] = []
    if "--row" not in values and "--model" in values and "--gpu" in values and "--cluster" not in values:
        machine_options = MachineOptions(**_fields(MachineOptions, values))
        _attempt(findings, lambda: options_run(RunOptions(**_fields(RunOptions, values)), machine_options))
    return findings


def _verify(values: Values) -> list[Finding]:
    findings: list[Finding] = []
    run = str(values.get("RUN", ""))
    if "/" in run and not values.keys() & {"--cluster", "--host"} and not Path(run).exists():
        from clusterwright.errors import unknown_name_fix

        folder = Path(run).parent
        names = [str(folder / path.name) for path in folder.iterdir()] if folder.is_dir() else []
        fix = unknown_name_fix(run, names, _("name the folder of a run, of checkpoints or of one checkpoint"))
        findings.append(Finding("file-unreadable", _("no such folder: {path}", path=run), fix))
    return findings


def _convert(values: Values) -> list[Finding]:
    from clusterwright.cli.checkpoints import is_swapped, swapped

    source, target = str(values.get("SOURCE", "")), str(values.get("TARGET", ""))
    is_local = not values.keys() & {"--cluster", "--host"}
    return [*swapped(source, target).findings] if is_local and target and is_swapped(source, target) else []


def _log(values: Values) -> list[Finding]:
    from clusterwright.cli._connection import local_run
    from clusterwright.diagnose.reading.finding import is_named_like_file
    from clusterwright.errors import unknown_name_fix

    findings: list[Finding] = []
    if "--mem" in values:
        from clusterwright.cli.why import memory_limit

        _attempt(findings, lambda: memory_limit(values["--mem"]))
    sources: Sequence[str] = values.get("SOURCES") or [values.get("JOB", "")]
    for source in map(str, sources):
        if (
            not is_named_like_file(source)
            or Path(source).exists()
            or local_run(source, values.get("--cluster"))
        ):
            continue
        files = [str(path) for path in sorted(Path(source).parent.glob("*"))[:1000] if path.is_file()]
        logs = [path for path in files if Path(path).suffix == Path(source).suffix]
        fix = unknown_name_fix(source, logs, _("name a file that exists"))
        findings.append(Finding("file-unreadable", _("no such file: {path}", path=source), fix))
    return findings


def _tune(values: Values) -> list[Finding]:
    from clusterwright.cli.tune import Common

    findings: list[Finding] = []
    options = Common(**_fields(Common, values))
    if (cluster := _cluster(values)) and options.nodes:
        hosts = cluster.hosts("compute")
        if options.nodes > len(hosts):
            message = _(
                "--nodes is {count}, but the cluster has {most} compute hosts",
                count=options.nodes,
                most=len(hosts),
            )
            findings.append(Finding("usage", message, _("write --nodes {count}", count=len(hosts))))
    return findings


_CHECKS: Mapping[str, Callable[[Values], list[Finding]]] = {
    "train": _train,
    "dev": _dev,
    "plan explain": _explain,
    "checkpoints list": _verify,
    "checkpoints verify": _verify,
    "checkpoints convert": _convert,
    "why": _log,
    "logs": _log,
    "tune network": _tune,
    "tune training": _tune,
}
