"""Convert the command line after `wright train --` into fields of a job file: program, launcher, framework."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.onhost.adapters import registry
from clusterwright.onhost.adapters.adapter import Adapter

# Variables of the submitting shell that ranks inherit: settings of libraries below the framework.
FORWARDED_PREFIXES = ("NCCL_", "UCX_", "OMP_", "GLOO_", "KMP_", "OMPI_MCA_", "TORCH_", "PYTORCH_")
_PYTHON = r"python(3(\.\d+)?)?"


def fields(arguments: Sequence[str], shell: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the fields of a job for a command line: `name`, `command` or `program`, and what can be detected.

    These are launcher, framework, an interpreter by its path, and the variables of `shell` (those of the submitting
    shell) that communication libraries read.
    """
    shell_variables = {
        name: text for name, text in (shell or {}).items() if name.startswith(FORWARDED_PREFIXES)
    }
    environment: dict[str, Any] = {"variables": shell_variables} if shell_variables else {}
    if re.fullmatch(f"/.*/{_PYTHON}", arguments[0]):  # this interpreter, not the cluster's
        environment["python"] = arguments[0]
    job_fields = {"name": _name(arguments), **_launch_fields(list(arguments))}
    return {**job_fields, "environment": environment} if environment else job_fields


def _launch_fields(arguments: list[str]) -> dict[str, Any]:
    if len(arguments) == 1 and re.search(r"\s", arguments[0]):  # one quoted line for a shell
        starts = _program(shlex.split(arguments[0], comments=True))
        launchers = map(registry.launcher, registry.launcher_names())
        tasks = [
            name
            for task_launcher in launchers
            if task_launcher.kind == "task"
            for name in task_launcher.programs
        ]
        kind = "batch" if any(re.search(rf"\b{name}\b", arguments[0]) for name in tasks) else "host"
        return {"program": ["bash", "-c", arguments[0]], **_framework(starts), "launcher": kind}
    program_name = PurePosixPath(arguments[0]).name
    if re.fullmatch(_PYTHON, program_name):
        return _of_python(arguments)
    for name in registry.launcher_names():
        launcher = registry.launcher(name)
        if program_name in launcher.programs:
            if launcher.is_supervised:
                return {**_launch_fields(arguments[1:]), "launcher": name}
            return {"program": arguments, "launcher": "batch" if launcher.kind == "task" else name}
    if framework := _framework(arguments):
        return {"program": arguments, "launcher": "host", **framework}
    return {"program": arguments, "framework": "mpi"}


def _of_python(arguments: list[str]) -> dict[str, Any]:
    """Return the fields of a Python command: agents start scripts and modules; other options need their own Python.

    The module of a launcher is a program that starts once on each host.

    Raises:
        WrightError: the command has no script.
    """
    python_arguments = arguments[1:]
    while python_arguments and python_arguments[0] == "-u":
        python_arguments = python_arguments[1:]
    if not python_arguments or python_arguments in (["-m"], ["-c"]):
        raise WrightError.from_code(
            "train-words",
            _("`{command}` has no script", command=" ".join(arguments)),
            _("add the script: wright train -- python train.py"),
            exit_code=EXIT_USAGE,
        )
    if (
        python_arguments[:1] == ["-m"]
        and len(python_arguments) > 1
        and any(python_arguments[1] in adapter.modules for adapter in _adapters().values())
    ):
        return {"program": ["python", *python_arguments], "launcher": "host"}
    if python_arguments[0].startswith("-") and python_arguments[0] not in ("-m", "-c"):
        return {"program": arguments}
    return {"command": python_arguments}


def quoted_command(program: Sequence[str]) -> str:
    """Return the Python command that was typed in quotes, as one argument; "" if the program is something else."""
    line = program[2] if len(program) == 3 and list(program[:2]) == ["bash", "-c"] else ""
    return line if re.fullmatch(rf"(\S*/)?{_PYTHON}( [\w./=,:@+-]+)+", line) else ""


def _framework(arguments: Sequence[str]) -> dict[str, Any]:
    """Return the framework field for the first program of the line; empty if unknown."""
    program_name = PurePosixPath(arguments[0]).name if arguments else ""
    return next(
        ({"framework": name} for name, adapter in _adapters().items() if program_name in adapter.programs), {}
    )


def _adapters() -> dict[str, Adapter]:
    return {name: registry.adapter(name) for name in registry.framework_names()}


def _program(arguments: list[str]) -> list[str]:
    """Return the arguments without leading NAME=VALUE words."""
    while arguments and re.fullmatch(r"[A-Za-z_]\w*=.*", arguments[0]):
        arguments = arguments[1:]
    return arguments


def _name(arguments: Sequence[str]) -> str:
    """Return a run name of up to 40 characters for a command line, from the name of its script, module or program.

    `run-` precedes a name that does not begin with a letter.
    """
    line = shlex.split(arguments[0], comments=True) if len(arguments) == 1 else list(arguments)
    script = next(
        (argument for argument in line if argument.endswith((".py", ".sh"))),
        _module(line) or "".join(line[:1]),
    )
    stem = re.sub(
        r"[^A-Za-z0-9_.-]+", "-", PurePosixPath(script).name.removesuffix(".py").removesuffix(".sh")
    )
    return stem[:40] if re.match("[A-Za-z]", stem) else f"run-{stem}"[:40]


def _module(line: Sequence[str]) -> str | None:
    return line[line.index("-m") + 1].rpartition(".")[2] if "-m" in line[:-1] else None
