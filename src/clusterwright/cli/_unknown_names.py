"""Values of a command line that nothing has: files, GPUs, models, checks, and hosts and groups of the cluster file.

The commands refuse them too, each where it needs them; here all of a line are found, by the type of the argument.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from clusterwright.cli import _live_names
from clusterwright.errors import Finding, WrightError, unknown_name_fix
from clusterwright.i18n import _

if TYPE_CHECKING:
    from cyclopts.argument import Argument

    from clusterwright.config.cluster import Cluster

RESULTS = ("--out", "--html", "--csv", "--svg", "--cables", "--metrics")  # options that name a file to write
_FILES = ("--html", "--csv", "--svg")  # never a folder
_FOLDERS = ("--folder", "--root", "--code", "FILE", "SOURCES")  # arguments that may name a folder to read
_LONGEST = 200  # characters of a path in a message
_NOT_READ = (*RESULTS, "--users", "--cluster")  # created, or judged on its own
# Commands that need the cluster file of this folder if none is named; the latter also work with any Slurm cluster.
_OF_FILE = (
    "render",
    "apply",
    "diff",
    "rollback",
    "add-hosts",
    "remove-hosts",
    "upgrade",
    "state",
    "export",
    "bundle",
    "bios",
    "heal",
)
_OF_SLURM = ("check", "bench", "tune", "dev", "top", "web")


def unknown_names(command: tuple[str, ...], arguments: Iterable[Argument], named: str) -> Iterator[Finding]:
    """Yield a finding for each value that does not exist; `named`: the texts of findings, whose values are left out."""
    texts = {argument.name: [token.value for token in argument.tokens] for argument in arguments}
    values = [
        (argument, value)
        for argument in arguments
        for value in texts[argument.name]
        if value not in named and not argument.children
    ]
    named_cluster = next(iter(texts.get("--cluster", ())), None)
    cluster, findings = _cluster(command, named_cluster, named)
    yield from (finding for finding in findings if finding.message not in named and finding.code not in named)
    catalog = next((path for path in texts.get("--catalog", ()) if Path(path).is_file()), None)
    for argument, value in values:
        if argument.name in RESULTS:
            yield from _unwritable(argument, value)
        elif Path in (argument.hint, *get_args(argument.hint)) and argument.name not in _NOT_READ:
            yield from _missing_file(argument, value)
        elif rule := _RULES.get(argument.parameter.completer):
            yield from _findings_of(partial(rule, value, cluster, catalog))


def _gpu(name: str, _cluster: Cluster | None, catalog: str | None) -> None:
    from clusterwright.catalog import gpu
    from clusterwright.catalog.user_catalog_file import load_user_catalog

    gpu(name, load_user_catalog(catalog))


def _model(name: str, _cluster: Cluster | None, catalog: str | None) -> None:
    from clusterwright.catalog.hf import model_of
    from clusterwright.catalog.user_catalog_file import load_user_catalog

    model_of(name, load_user_catalog(catalog))


def _check(name: str, _cluster: Cluster | None, _catalog: str | None) -> None:
    from clusterwright.check.registry import choose

    choose((name,))


def _hosts(text: str, cluster: Cluster | None, _catalog: str | None) -> None:
    from clusterwright.cli._hostlist import expanded, hosts_of

    if cluster:
        hosts_of(cluster, text)
    else:
        expanded(text)


def _group(name: str, cluster: Cluster | None, _catalog: str | None) -> None:
    _require(name, cluster.nodes if cluster else (name,), _("there is no node group `{name}`", name=name))


def _partition(name: str, cluster: Cluster | None, _catalog: str | None) -> None:
    _require(name, cluster.partitions if cluster else (name,), _("there is no partition `{name}`", name=name))


# What refuses an unknown value, by the completer of its type.
_RULES: Mapping[object, Callable[[str, Cluster | None, str | None], None]] = {
    _live_names.GPUS.completer: _gpu,
    _live_names.MODELS.completer: _model,
    _live_names.CHECKS.completer: _check,
    _live_names.HOSTS.completer: _hosts,
    _live_names.GROUPS.completer: _group,
    _live_names.PARTITIONS.completer: _partition,
}


def _require(name: str, names: Iterable[str], message: str) -> None:
    if name not in names:
        raise WrightError.from_code("unknown-name", message, unknown_name_fix(name, names))


def _findings_of(call: Callable[[], object]) -> tuple[Finding, ...]:
    """Return the findings of the error that a call raises; none if it raises none."""
    try:
        call()
    except WrightError as error:
        return error.findings
    except OSError:  # the command reports what it cannot read
        return ()
    return ()


def _cluster(
    command: tuple[str, ...], file: str | None, named: str
) -> tuple[Cluster | None, tuple[Finding, ...]]:
    """Return the cluster of the file that the command reads, else None, and the findings about a bad file.

    Slurm is not contacted. Neither is returned if findings (`named`) name the file already.
    """
    from clusterwright.cli._connection import cluster_file, is_unmanaged
    from clusterwright.config.load import load_cluster

    path = Path(file) if file else None
    is_needed = bool(command) and command[0] in (*_OF_FILE, *_OF_SLURM)
    if not path and not is_needed:
        return None, ()
    accepts_login = bool(command) and command[0] in _OF_SLURM
    try:
        if is_unmanaged(path) and (accepts_login or not is_needed):
            return None, ()
        path = cluster_file(path, accepts_login=accepts_login)
        return (None if str(path) in named else load_cluster(path)), ()
    except WrightError as error:
        return None, error.findings
    except OSError:  # the command reports what it cannot read
        return None, ()


def _unwritable(argument: Argument, value: str) -> Iterator[Finding]:
    """Yield why a result cannot be written: a folder above it is a file, belongs to others, or the file is a folder.

    Folders that are missing are created by the commands.
    """
    path, option = Path(value), argument.name
    if value == "-" or len(value) > _LONGEST:
        return
    with suppress(OSError):
        if option in _FILES and path.is_dir():
            message = _("{option}: {path} is a folder", option=option, path=value)
            fix = _(
                "name a file in that folder, such as {file}",
                file=shlex.quote(f"{value}/result{option.replace('--', '.')}"),
            )
            yield Finding("not-writable", message, fix)
            return
        ancestor = next(folder for folder in path.absolute().parents if os.path.lexists(folder))
        if not ancestor.is_dir():
            message = _("{option}: {path} is a file, not a folder", option=option, path=ancestor)
            yield Finding("not-writable", message, _("name another path, or remove that file"))
        elif not os.access(ancestor, os.W_OK | os.X_OK):
            message = _("{option}: you may not write to the folder {path}", option=option, path=ancestor)
            yield Finding("not-writable", message, _("choose a path in a folder of yours"))


def _missing_file(argument: Argument, value: str) -> Iterator[Finding]:
    with suppress(OSError):  # a path that is too long
        if value == "-" or Path(value).exists():
            return
    folder, files = Path(value).parent, []
    with suppress(OSError):
        is_folder = argument.name in _FOLDERS
        files = [str(folder / file.name) for file in folder.iterdir() if is_folder or not file.is_dir()]
    option = f"{argument.name}: " if argument.name.startswith("-") else ""
    message = _("{option}no such file: {path}", option=option, path=value[:_LONGEST])
    fix = unknown_name_fix(value, files, _("name a file that exists"))
    yield Finding("file-unreadable", message, fix)
