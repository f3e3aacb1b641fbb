"""The examples of each command, from examples.toml beside the commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from itertools import takewhile
from typing import Any

from clusterwright.cli._wrapping import command_text
from clusterwright.i18n import _


def examples(names: Iterable[str]) -> dict[str, str]:
    """Return the examples of the command with these words: lines to copy, and what each of them does."""
    table: Mapping[str, Any] = _tables()
    for name in names:
        table = table.get(name, {})
    return {line: text for line, text in table.items() if isinstance(text, str)}


def help_text(arguments: Iterable[str]) -> str:
    """Return the examples of the command that the arguments name, as printed below its help; "" without examples."""
    lines = examples(takewhile(lambda argument: not argument.startswith("-"), arguments))
    parts = (f"  {command_text(line)}\n      {_(text)}" for line, text in lines.items())
    return "\n".join(("", _("Examples:"), *parts, "")) if lines else ""


@cache
def _tables() -> dict[str, Any]:
    import tomllib

    return tomllib.loads(files(__package__).joinpath("examples.toml").read_text(encoding="utf-8"))
