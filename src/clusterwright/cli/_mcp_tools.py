"""The tools of `wright mcp`: commands that change nothing, with the parameters of their own definitions.

A parameter that names a file to write is no parameter of a tool: of the paths, only those to read are passed on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _, current_language

if TYPE_CHECKING:
    from cyclopts.argument import Argument

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Tool:
    """A command that changes nothing.

    A `live` command reads the cluster that the server was started for, never one that a caller names.
    """

    command: str
    live: bool = False
    options: tuple[str, ...] = ()  # always given
    hidden: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return the name of the tool: `plan_size` for `wright plan size`."""
        return self.command.replace(" ", "_")

    def readable_paths(self) -> frozenset[str]:
        """Return the parameters that name a file to read; all other paths are files that the command writes."""
        return frozenset({"file", "catalog", *(() if self.live else ("cluster",))})


# `check` is missing: to verify shared storage, its probe writes a file there and deletes it.
TOOLS = (
    Tool("plan size"),
    Tool("plan search"),
    Tool("plan explain"),
    Tool("plan fabric"),
    Tool("plan cost"),
    Tool("validate", hidden=("more",)),
    Tool("explain"),
    Tool("jobs", live=True),
    Tool("status", live=True, hidden=("metrics",)),
    Tool("logs", live=True, hidden=("follow",)),
    Tool("why", live=True),
    Tool("top", live=True, options=("--json",), hidden=("json", "batch", "no_color", "as")),
    Tool("report job", live=True),
    Tool("report team", live=True),
    Tool("report cluster", live=True),
)

_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", Path: "string"}
_LONGEST = 4096  # characters of a value, as of a path


def description(tool: Tool) -> str:
    """Return the help of a tool's command, translated, without its parameters."""
    from clusterwright.cli._help import paragraphs

    text = _command(tool).help.partition("\n    Parameters\n")[0]
    return "\n\n".join(map(_, paragraphs(text)))


def input_schema(tool: Tool) -> Schema:
    """Return the JSON Schema of the parameters of a tool."""
    arguments = _arguments(tool)
    schema: Schema = {
        "type": "object",
        "properties": {name: _property(argument) for name, argument in arguments.items()},
        "additionalProperties": False,
    }
    required = [name for name, argument in arguments.items() if argument.required]
    return schema | ({"required": required} if required else {})


def command_line(tool: Tool, values: Mapping[str, Any], folder: Path) -> list[str]:
    """Return the command line of a call of a tool; a value is never taken for an option.

    Raises:
        WrightError: a value does not match the schema, or names a path outside of the folder.
    """
    _check(tool, values, folder)
    options, positional = [*tool.options], []
    for name, argument in _arguments(tool).items():
        value = values.get(name)
        if value is None:
            continue
        if argument.index is not None:
            positional += _texts(value)
        elif isinstance(value, bool):
            options += [argument.name] if value else []
        else:
            options += [f"{argument.name}={text}" for text in _texts(value)]
    # -P: no module in the folder takes the place of one of ours.
    head = [
        sys.executable,
        "-P",
        "-m",
        "clusterwright.cli._confined",
        str(folder),
        "--lang",
        current_language(),
    ]
    return [*head, *tool.command.split(), *options, *(["--", *positional] if positional else [])]


def _texts(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]


def _check(tool: Tool, values: Mapping[str, Any], folder: Path) -> None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    if error := best_match(Draft202012Validator(input_schema(tool)).iter_errors(dict(values))):
        location = ".".join(map(str, error.absolute_path))
        raise _usage(
            f"{location}: {error.message}" if location else error.message, _("see the schema of the tool")
        )
    for text in _strings(values.values()):
        if not _is_within(text, folder):
            raise _usage(
                _("`{value}` is outside of {folder}", value=text[:200], folder=folder),
                _("name a file in this folder, or start wright mcp with --folder"),
            )


def _strings(values: Iterable[Any]) -> list[str]:
    return [
        text
        for value in values
        for text in (value if isinstance(value, list) else [value])
        if isinstance(text, str)
    ]


def _is_within(text: str, folder: Path) -> bool:
    """Return True if the text, taken for a path, stays in the folder, also through links.

    Names of runs and GPUs do.
    """
    if text.startswith("~"):
        return False
    try:
        text.encode()
        return (folder / text).resolve().is_relative_to(folder)
    except (OSError, ValueError, RuntimeError):  # a null byte, half of a surrogate pair, a loop of links
        return False


def _usage(message: str, fix: str) -> WrightError:
    return WrightError.from_code("usage", message, fix, exit_code=EXIT_USAGE)


@cache
def _arguments(tool: Tool) -> dict[str, Argument]:
    """Return the parameters of a tool's command by name, without those that it would write to."""
    arguments = {}
    for argument in _command(tool).assemble_argument_collection(parse_docstring=True):
        name = argument.name.lstrip("-").replace("-", "_").lower()
        is_writable = (
            _without_none(argument.hint) in (Path, tuple[Path, ...]) and name not in tool.readable_paths()
        )
        if argument.show and name not in tool.hidden and not is_writable:
            arguments[name] = argument
    return arguments


def _command(tool: Tool) -> Any:
    from clusterwright.cli import app

    command: Any = app()
    for part in tool.command.split():
        command = command[part]
    return command


def _without_none(hint: Any) -> Any:
    """Return the type of a parameter without None: `Path` of `Path | None`."""
    types = [part for part in get_args(hint) if part is not NoneType]
    return types[0] if get_origin(hint) in (Union, UnionType) and len(types) == 1 else hint


def _property(argument: Argument) -> Schema:
    kind, default = _without_none(argument.hint), argument.field_info.default
    schema: Schema = {"description": " ".join(_(argument.parameter.help or "").split())}
    if get_origin(kind) is Literal:
        schema["enum"] = list(get_args(kind))
    elif get_origin(kind) is tuple:
        schema |= {"type": "array", "items": _type(get_args(kind)[0]), "maxItems": 100}
    else:
        schema |= _type(kind)
    return schema | ({"default": default} if isinstance(default, str | int | float) and default != "" else {})


def _type(kind: type) -> Schema:
    schema: Schema = {"type": _TYPES[kind]}
    return schema | ({"maxLength": _LONGEST} if schema["type"] == "string" else {})
