"""The source of the script that a launch line starts, as far as it can be read at submission."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from clusterwright.config.job import Job
from clusterwright.launch.lines.rewrite import SHELLS, command_lines, is_shell_line
from clusterwright.onhost.adapters.launch_options import parse

MAX_BYTES = 1_000_000  # of one file; longer ones are data
MAX_FILES = 50  # that a script imports from its own folder
_PYTHON = re.compile(r"python(3(\.\d+)?)?")


@dataclass(frozen=True, slots=True)
class Script:
    """A script: its path as typed, its file, its text, and the parsed module; None if it is not Python."""

    name: str
    path: Path
    text: str
    tree: ast.Module | None
    syntax_error: str = ""  # line and message, such as `12: invalid syntax`


def read_script(job: Job, base_folder: Path) -> Script | None:
    """Return the script of the job; None without one, or if it cannot be read on this machine."""
    name = script_name(job)
    folder = _folder(job, base_folder)
    if name is None or (folder is None and not name.startswith("/")):
        return None
    path = (folder or Path("/")) / name
    text = _text(path)
    if text is None:
        return None
    try:
        tree = ast.parse(text) if path.suffix == ".py" else None
    except SyntaxError as error:
        return Script(name, path, text, None, f"{error.lineno}: {error.msg}")
    except (ValueError, RecursionError):
        tree = None
    return Script(name, path, text, tree)


def script_name(job: Job) -> str | None:
    """Return the path of the Python script or the shell script that the job starts; None without one."""
    if job.command is not None:
        return python_script(["python", *job.command])
    program = job.program or ()
    if len(program) > 1 and program[0] in SHELLS and not program[1].startswith("-"):
        return program[1]
    if is_shell_line(program):
        lines = [[token.text for token in line] for line in command_lines(program)]
        return next(filter(None, map(python_script, reversed(lines))), None)
    return python_script(list(program))


def python_script(arguments: Sequence[str]) -> str | None:
    """Return the Python script that a command line starts, behind any launchers; None if it starts none.

    A module is returned as the path of its file.
    """
    while launch := parse(arguments):
        arguments = arguments[launch.program :]
        if any(option.name in ("-m", "--module") for option in launch.options):
            return _module_path(arguments[0]) if arguments else None
    if arguments and _PYTHON.fullmatch(Path(arguments[0]).name):
        arguments = arguments[1:]
        while arguments and arguments[0] in ("-u", "-O", "-B"):
            arguments = arguments[1:]
        if arguments[:1] == ["-m"] and len(arguments) > 1:
            return _module_path(arguments[1])
    return arguments[0] if arguments and arguments[0].endswith(".py") else None


def strings(script: Script) -> frozenset[str]:
    """Return all string constants of the script and of the modules that it imports from its own folder."""
    constants: set[str] = set()
    for tree in _trees(script):
        constants.update(
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        )
    return frozenset(constants)


def _trees(script: Script) -> Iterator[ast.Module]:
    """Yield the script's module and those that it imports from its own folder, each once, up to about MAX_FILES.

    Files that cannot be parsed are left out.
    """
    pending, files = [script.path], {script.path}
    while pending and len(files) <= MAX_FILES:
        path = pending.pop()
        try:
            tree = script.tree if path == script.path else ast.parse(_text(path) or "")
        except (SyntaxError, ValueError, RecursionError):
            continue
        if tree is None:
            continue
        yield tree
        for name in _imports(tree):
            stem = script.path.parent.joinpath(*name.split("."))
            for file in (stem.with_suffix(".py"), stem / "__init__.py"):
                if file not in files and file.is_file():
                    files.add(file)
                    pending.append(file)


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _module_path(module: str) -> str:
    return module.replace(".", "/") + ".py"


def _folder(job: Job, base_folder: Path) -> Path | None:
    """Return the folder in which the program starts, on this machine; None without `workdir` and `code`."""
    if job.environment.workdir:
        return Path(job.environment.workdir)
    return base_folder / job.code.folder if job.code else None


def _text(path: Path) -> str | None:
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return None
        return path.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return None
