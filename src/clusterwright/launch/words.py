"""What is typed behind `wright train --` as the fields of a job file: who starts it, and what with. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from clusterwright.onhost.adapters import registry
from clusterwright.onhost.adapters.adapter import Adapter

# Of the shell that submits: how libraries below the framework are tuned. Nothing else of it is handed on.
HANDED_ON = ("NCCL_", "UCX_", "OMP_", "GLOO_", "KMP_", "OMPI_MCA_", "TORCH_", "PYTORCH_")
_PYTHON = r"python(3(\.\d+)?)?"


def fields(words: Sequence[str], shell: Mapping[str, str] | None = None) -> dict[str, Any]:
    """`command` or `program`, with `launcher`, `framework`, `name` and variables where the words tell them."""
    told = {name: text for name, text in (shell or {}).items() if name.startswith(HANDED_ON)}
    found = {"name": _name(words), **_what(list(words))}
    return {**found, "environment": {"variables": told}} if told else found


def _what(words: list[str]) -> dict[str, Any]:
    if len(words) == 1 and re.search(r"\s", words[0]):  # a line for a shell, in quotes
        starts = _program(shlex.split(words[0], comments=True))
        launchers = map(registry.launcher, registry.launcher_names())
        tasks = [name for one in launchers if one.kind == "task" for name in one.programs]
        kind = "batch" if any(re.search(rf"\b{name}\b", words[0]) for name in tasks) else "host"
        return {"program": ["bash", "-c", words[0]], **_framework(starts), "launcher": kind}
    first = PurePosixPath(words[0]).name
    if re.fullmatch(_PYTHON, first):
        return _of_python(words)
    for name in registry.launcher_names():
        launcher = registry.launcher(name)
        if first in launcher.programs:
            if launcher.is_supervised:
                return {**_what(words[1:]), "launcher": name}
            return {"program": words, "launcher": "batch" if launcher.kind == "task" else name}
    if framework := _framework(words):
        return {"program": words, "launcher": "host", **framework}
    return {"program": words, "framework": "mpi"}


def _of_python(words: list[str]) -> dict[str, Any]:
    """Our agent runs a script or a module in its own Python; other options of Python need one of their own."""
    rest = words[1:]
    while rest and rest[0] == "-u":
        rest = rest[1:]
    if rest[:1] == ["-m"] and len(rest) > 1 and any(rest[1] in one.modules for one in _adapters().values()):
        return {"program": ["python", *rest], "launcher": "host"}
    if not rest or (rest[0].startswith("-") and rest[0] not in ("-m", "-c")):
        return {"program": words}
    return {"command": rest}


def _framework(words: Sequence[str]) -> dict[str, Any]:
    """Of the program that the line begins with."""
    first = PurePosixPath(words[0]).name if words else ""
    return next(({"framework": name} for name, one in _adapters().items() if first in one.programs), {})


def _adapters() -> dict[str, Adapter]:
    return {name: registry.adapter(name) for name in registry.framework_names()}


def _program(words: list[str]) -> list[str]:
    """Without the variables that are set in front of it."""
    while words and re.fullmatch(r"[A-Za-z_]\w*=.*", words[0]):
        words = words[1:]
    return words


def _name(words: Sequence[str]) -> str:
    """The script's name, else the program's, as a run may be called."""
    line = shlex.split(words[0], comments=True) if len(words) == 1 else list(words)
    script = next((word for word in line if word.endswith((".py", ".sh"))), _module(line) or line[0])
    stem = re.sub(
        r"[^A-Za-z0-9_.-]+", "-", PurePosixPath(script).name.removesuffix(".py").removesuffix(".sh")
    )
    return stem[:40] if re.match("[A-Za-z]", stem) else f"run-{stem}"[:40]


def _module(line: Sequence[str]) -> str | None:
    return line[line.index("-m") + 1].rpartition(".")[2] if "-m" in line[:-1] else None
