"""Every command with its arguments and options, as data: for man pages and for tests that go over all commands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

from clusterwright.cli import GROUPS, app
from clusterwright.cli._examples import examples
from clusterwright.cli._help import paragraphs

if TYPE_CHECKING:
    from cyclopts import App
    from cyclopts.argument import Argument

_VALUES = {Path: "PATH", int: "INT", float: "FLOAT", bool: ""}


@dataclass(frozen=True, slots=True)
class CommandOption:
    """An option, or a positional argument, whose only name is in capitals."""

    names: tuple[str, ...]
    value: str  # what stands for its value: PATH, INT, FLOAT, STR or a|b; empty for a flag
    help: str
    default: str  # empty if there is none to show
    required: bool
    repeatable: bool

    @property
    def is_positional(self) -> bool:
        """Return True for a positional argument, whose name has no hyphen in front."""
        return not self.names[0].startswith("-")


@dataclass(frozen=True, slots=True)
class Command:
    """A command or a group of commands."""

    words: tuple[str, ...]  # bench, network
    paragraphs: tuple[str, ...]
    options: tuple[CommandOption, ...]
    is_runnable: bool  # False for a group that only has commands
    commands: tuple[Command, ...] = field(default=())

    @property
    def examples(self) -> dict[str, str]:
        """Return the command's examples: lines to copy, and what each of them does."""
        return examples(self.words)

    @property
    def synopsis(self) -> str:
        """Return the usage line of the command without `wright` and the command's own words."""
        parts = [] if self.is_runnable else ["COMMAND"]
        parts += ["[OPTION]..."] if any(not option.is_positional for option in self.options) else []
        for option in self.options:
            name = option.names[0] + " ..." * option.repeatable
            if option.is_positional:
                parts.append(name if option.required else f"[{name}]")
            elif option.required:
                parts.insert(0, f"{name} {option.value}")
        return " ".join(parts)


def command_tree() -> tuple[Command, ...]:
    """Return the commands of `wright`, with their subcommands, in the order of `wright --help`."""
    tree = app()
    return tuple(_command(tree[name], (name,), (tree,)) for names in GROUPS.values() for name in names)


def all_commands() -> Iterator[Command]:
    """Yield every command that can be run, also those of groups."""
    pending = list(command_tree())
    while pending:
        command = pending.pop(0)
        pending[:0] = command.commands
        if command.is_runnable:
            yield command


def _command(command_app: App, words: tuple[str, ...], above: tuple[App, ...]) -> Command:
    names = [name for name in command_app if not name.startswith("-")]
    with above[0].app_stack([*above, command_app]):
        arguments = (
            command_app.assemble_argument_collection(parse_docstring=True)
            if command_app.default_command
            else ()
        )
        options = tuple(_option(argument) for argument in arguments if _is_documented(argument))
    return Command(
        words,
        _description(command_app.help or ""),
        options,
        bool(command_app.default_command),
        tuple(_command(command_app[name], (*words, name), (*above, command_app)) for name in names),
    )


def _description(docstring: str) -> tuple[str, ...]:
    from docstring_parser import parse

    parsed = parse(docstring)
    return tuple(paragraphs(f"{parsed.short_description or ''}\n\n{parsed.long_description or ''}"))


def _is_documented(argument: Argument) -> bool:
    return bool(argument.show) and "*" not in argument.names and "[" not in "".join(argument.names)


def _option(argument: Argument) -> CommandOption:
    choices = argument.get_choices(force=True) or ()
    default = argument.field_info.default
    has_default = default not in (argument.field_info.empty, None, False, "", ())
    return CommandOption(
        tuple(name for name in argument.names if not name.startswith(("--no-", "--empty-"))),
        "|".join(choices) or _value(argument.hint),
        " ".join((argument.parameter.help or "").split()),
        str(default) if has_default else "",
        bool(argument.required),
        get_origin(argument.hint) is tuple or argument.is_var_positional(),
    )


def _value(hint: Any) -> str:
    kinds = [_VALUES[kind] for kind in (hint, *get_args(hint)) if kind in _VALUES]
    return kinds[0] if kinds else "STR"
