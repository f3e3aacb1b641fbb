"""The line of `wright train` for a program with options of torchrun, sbatch and others before it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from clusterwright.cli._foreign_options import equivalent_option, is_omitted

if TYPE_CHECKING:
    from cyclopts.argument import Argument

_SPECS = (".yaml", ".yml")
_SCRIPTS = (".py", ".sh", *_SPECS)


def train_line(tokens: Sequence[str], arguments: Iterable[Argument]) -> str:
    """Return the line of `wright train` with its own options first and the program after `--`.

    Options of torchrun, sbatch and others before the program are replaced or left out; a file that Python runs gets
    `python` in front of it. Empty without a program, for a job file, and if an option before the program has no
    replacement.
    """
    options = {name: argument for argument in arguments for name in argument.names if name.startswith("-")}
    typed: list[str] = []
    program: list[str] = []
    remaining = list(tokens)
    while remaining:
        token = remaining.pop(0)
        name, equals, value = token.partition("=")
        if argument := options.get(name):
            typed.append(token)
            if not equals and remaining and not argument.is_flag():
                typed.append(remaining.pop(0))
        elif program or not token.startswith("-"):
            program.append(token)
        elif name != "--":
            if not equals and remaining and _is_value(remaining[0]):
                value = remaining.pop(0)
            replacement = equivalent_option("train", name, value, options)
            if not replacement and not is_omitted("train", name):
                return ""
            typed += replacement if replacement[:1] not in ([token] for token in typed) else []
    if not program or program[0].endswith(_SPECS):
        return ""
    program[:0] = ["python"] if program[0].endswith(".py") else []
    return shlex.join(("wright", "train", *typed, "--", *program))


def _is_value(token: str) -> bool:
    """Return True for a token after an option of another tool that is its value, and not the program."""
    return not token.startswith("-") and not token.endswith(_SCRIPTS)
