"""Slurm's files on this machine: those of a folder, what they include, and what the host has of what they name."""

from __future__ import annotations

import shlex
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from clusterwright.cli._file_kinds import find_kind
from clusterwright.config.load import text_of
from clusterwright.config.slurm_keys import RELEASES, key_spans, release
from clusterwright.config.slurm_rules import KINDS, Setting, SlurmConf, Source
from clusterwright.config.slurm_rules.rules.hooks import ON_CONTROLLERS, ON_NODES, programs
from clusterwright.config.slurm_rules.rules.network import controller_address, controller_name
from clusterwright.errors import EXIT_USAGE, Finding, SpecError, WrightError
from clusterwright.i18n import _
from clusterwright.slurm.conf_files import conf_lines

_NAMES = ", ".join(KINDS)
_DEEPEST = 8  # includes within includes; a file that includes itself would never end


def read_sources(files: Sequence[Path], version: str, root: Path | None) -> tuple[Source, ...]:
    """Return the Slurm files, of a folder those in it, each with the files that it includes.

    Raises:
        WrightError: `lint-unknown`, for a file or a release without a table of keys; `file-unreadable`.
    """
    paths: list[Path] = []
    findings: list[Finding] = []
    try:
        require_release(version)
    except WrightError as error:
        findings += error.findings
    for file in files:
        try:
            paths += _of_slurm(file)
        except WrightError as error:
            findings += error.findings
    if root and not root.is_dir():
        message = _("{option}no such file: {path}", option="--root: ", path=root)
        findings.append(Finding("file-unreadable", message, _("name a folder that exists, such as /")))
    if findings:
        raise SpecError(*findings)
    return tuple(_source(path, path.name, root, _DEEPEST) for path in paths)


def require_release(version: str) -> None:
    """Raise WrightError (`lint-unknown`) for a release of Slurm without a table of keys."""
    if release(version) not in RELEASES:
        message = _("`{version}` is not a release of Slurm that is known here", version=version)
        named = [known for known in RELEASES if known in version]
        fix = (
            _("write {name}", name=f"--slurm {named[0]}")
            if named
            else _("choose one of {choices}", choices=", ".join(RELEASES))
        )
        raise _refusal(message, fix)


def _of_slurm(file: Path) -> list[Path]:
    """Return the Slurm file in a list, or those of the folder.

    Raises:
        WrightError: `file-unreadable`, or `lint-unknown` for what is no file of Slurm.
    """
    if file.is_dir():
        if paths := _in_folder(file):
            return paths
        fix = _(
            "name the folder that has slurm.conf, such as /etc/slurm, or one of these files: {files}",
            files=_NAMES,
        )
        raise _refusal(_("folder {folder} has no file of Slurm", folder=file), fix)
    text_of(file)  # a file that does not exist is the first error to name
    if _has_table(file.name):
        return [file]
    message = _("{file} has none of the names of Slurm's files", file=file)
    fix = _("name one of {files}; a file may have any folder, but not another name", files=_NAMES)
    if kind := find_kind(file):
        message = _("{file} is {kind}, not a file of Slurm", file=file, kind=kind.name)
        fix = kind.fix
    elif file.suffix in (".yaml", ".yml"):
        fix = _("to check a cluster or job file: wright validate {file}", file=shlex.quote(str(file)))
    raise _refusal(message, fix)


def _refusal(message: str, fix: str) -> WrightError:
    return WrightError.from_code("lint-unknown", message, fix, exit_code=EXIT_USAGE)


def _in_folder(folder: Path) -> list[Path]:
    return [folder / kind for kind in KINDS if (folder / kind).is_file()]


def _has_table(name: str) -> bool:
    return bool(key_spans(name)) or name == "topology.yaml"


def _source(path: Path, kind: str, root: Path | None, depth: int) -> Source:
    text = text_of(path)
    names = {line.include for line in conf_lines(text) if line.include} if kind != "topology.yaml" else set()
    includes: dict[str, tuple[Source, ...]] = {}
    for name in names if depth else ():
        target = _included(path, name, root)
        if target is not None:
            exists = target.is_file()
            includes[name] = (_source(target, kind, root, depth - 1),) if exists else ()
    return Source(str(path), kind, text, includes)


def _included(path: Path, name: str, root: Path | None) -> Path | None:
    """Return where an included file is; None if it may exist on the host whose file this is, but not here."""
    if "%" in name:  # slurmctld replaces %c by the name of the cluster
        return None
    if not name.startswith("/"):
        return path.parent / name
    target = root / name.lstrip("/") if root else Path(name)
    copy = path.parent / Path(name).name
    candidates = [file for file in (target, copy) if file.is_file()]
    return candidates[0] if candidates else target if root else None


def observe(conf: SlurmConf, root: Path | None, *, resolve: bool) -> SlurmConf:
    """Return the configuration with which of its programs are missing or not executable, and names do not resolve.

    Programs are searched on this host, or below `root`, if it is one that runs them. Names are those of controllers,
    with
    `resolve` or on a host of the cluster.
    """
    name = socket.gethostname().partition(".")[0]
    is_node = name in conf.hosts or name in {node.get("NodeHostname") for node in conf.nodes}
    is_controller = name in {controller_name(setting).partition(".")[0] for setting in conf.controllers}
    keys = (*(ON_NODES if root or is_node else ()), *(ON_CONTROLLERS if root or is_controller else ()))
    folder = Path(conf.files.get("slurm.conf", ".")).parent
    states = {
        setting.value: state
        for setting in programs(conf, keys)
        for state in _state(setting.value.partition(" ")[0], folder, root)
    }
    hosts = conf.controllers if resolve or is_node or is_controller else ()
    return replace(conf, programs=states, unresolved=frozenset(_unresolved(hosts)))


def _state(program: str, folder: Path, root: Path | None) -> Iterator[str]:
    """Yield "missing" or "not executable" for a program that a file of Slurm names.

    Nothing for one that can run, for a pattern, or if its folder cannot be read.
    """
    if not program or set("*?[%") & set(program):
        return
    path = folder / program if not program.startswith("/") else (root or Path("/")) / program.lstrip("/")
    with suppress(PermissionError):
        if not path.is_file():
            yield "missing"
        elif not path.stat().st_mode & 0o111:
            yield "not executable"


def _unresolved(controllers: Sequence[Setting]) -> Iterator[str]:
    for setting in controllers:
        try:
            socket.getaddrinfo(controller_address(setting), None)
        except (OSError, UnicodeError):
            yield controller_name(setting)
