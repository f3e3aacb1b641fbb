"""Arguments in the wrong place, and verbs of other tools: the line to write instead.

Options before the command, a value or a name of an option without its hyphens, and what docker, kubectl, systemctl
and vagrant call the commands of a group.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, get_args, get_origin

from clusterwright.cli._foreign_options import SPECS, equivalent_option, is_omitted
from clusterwright.i18n import _

if TYPE_CHECKING:
    from cyclopts import App
    from cyclopts.argument import Argument

# A command of a group, and the verbs of other tools that mean it. The first one that the group has is meant.
_VERBS = {
    "up": "start create run launch boot begin new add init deploy apply open",
    "down": "stop delete destroy remove rm kill terminate halt shutdown end close clean",
    "stop": "delete destroy remove rm kill terminate halt end cancel close down",
    "status": "list ls ps get show describe info inspect state view",
    "list": "ls ps get show describe info inspect status view history",
    "show": "list ls get describe info inspect status view read",
    "log": "logs history list ls events",
    "catalog": "list ls get show describe",
    "shell": "ssh exec login attach console connect enter",
    "fault": "inject break kill-host chaos",
    "watch": "start run monitor enable",
    "approve": "accept allow confirm ok",
    "undo": "revert rollback back",
    "apply": "set put write update edit change",
    "recover": "restore repair fix rebuild get",
    "verify": "check test validate scan",
    "convert": "export transform save",
    "compare": "diff",
    "build": "create make new",
    "job": "run show get describe",
    "cluster": "list ls all",
}
_COMMANDS_OF_NAMES = {"wright report": "job", "wright checkpoints": "list", "wright bios": "show"}
_MOST_LINES = 3  # of a fix; a loop for more
_HOSTLIST = re.compile(r"[A-Za-z0-9][\w.-]*(?:\[[\d,-]+\][\w.-]*)*(?:,[\w.\[\],-]+)?")
_SCRIPTS = (".py", ".sh", *SPECS)
_NEWEST = ("latest", "newest", "current", "stable")


def verb_line(command: str, tokens: Sequence[str], subcommands: Container[str]) -> str:
    """Return the command line that a verb of another tool means in a group of commands; empty if there is none.

    `tokens` are what follows `command`: the verb, and what it works on, up to the first option.
    """
    arguments = list(takewhile(lambda token: not token.startswith("-"), tokens))
    if not arguments:
        return ""
    verb, *objects = arguments
    verb = verb.lower()
    if verb == "help":
        return shlex.join((*command.split(), *objects, "--help"))
    matches = (name for name, verbs in _VERBS.items() if verb in verbs.split() and name in subcommands)
    return next((shlex.join((*command.split(), name, *objects)) for name in matches), "")


def name_line(command: str, tokens: Sequence[str]) -> str:
    """Return the command line that a run or host after a group of commands means; empty for other groups."""
    verb = _COMMANDS_OF_NAMES.get(command)
    return shlex.join((*command.split(), verb, *tokens)) if verb else ""


def unquoted_line(command: str, name: str, subcommands: Container[str]) -> str:
    """Return the command line without the quotes around a command and its arguments; empty if there are none."""
    return f"{command} {name}" if " " in name and name.partition(" ")[0] in subcommands else ""


def options_last(app: App, command: str, tokens: Sequence[str]) -> str:
    """Return the command line with the options before a command moved after it; empty if no command follows.

    `tokens` are what follows `command`, such as `--dry-run apply` after `wright`.
    """
    names = list(app)
    start = next((index for index, token in enumerate(tokens) if token in names and token[:1] != "-"), None)
    if start is None:
        return ""
    end, group = start, app
    while end < len(tokens) and tokens[end] in list(group) and tokens[end][:1] != "-":
        group, end = group[tokens[end]], end + 1
    return shlex.join((*command.split(), *tokens[start:end], *tokens[:start], *tokens[end:]))


def repeated_lines(command: str, tokens: Sequence[str]) -> str:
    """Return a line of sh that runs a command, which takes one argument, once for each of several.

    Empty for fewer than two, or if options come first.
    """
    values = list(takewhile(lambda token: not token.startswith("-"), tokens))
    options = tokens[len(values) :]
    if len(values) < 2 or not all(token.strip() for token in values):
        return ""
    if len(values) <= _MOST_LINES:
        return "; ".join(shlex.join((*command.split(), value, *options)) for value in values)
    line = shlex.join((*command.split(), *options))
    return f'for name in {shlex.join(values)}; do {line} "$name"; done'


def list_option(tokens: Sequence[str], unexpected: Sequence[str], arguments: Iterable[Argument]) -> str:
    """Return an option that takes a list, with all values after it, the unexpected ones too; empty if there is none.

    A hostlist has commas, an option of several values is repeated.
    """
    options = {name: argument for argument in arguments for name in argument.names if name.startswith("--")}
    for index, token in enumerate(tokens):
        name, equals, value = token.partition("=")
        following = takewhile(lambda text: not text.startswith("-"), tokens[index + 1 :])
        values = [text.strip(",") for text in ([value] if equals else []) + list(following)]
        extra = [text.strip(",") for text in unexpected]
        if name not in options or len(values) < 2 or values[1:] != extra[: len(values) - 1]:
            continue
        if any(not text or f"--{text}" in options for text in values):
            continue
        if name == "--hosts" and options[name].hint is str and all(map(_HOSTLIST.fullmatch, values)):
            return f"{name} {shlex.quote(','.join(values))}"
        if get_origin(options[name].hint) is tuple and ... in get_args(options[name].hint):
            return " ".join(f"{name} {shlex.quote(text)}" for text in values)
    return ""


def option_of(unexpected: Sequence[str], arguments: Iterable[Argument]) -> str:
    """Return the option that unexpected arguments mean, with its value; empty if there is none.

    The first one is a choice of the option (`lab` of --template), its name (`slurm 26.05` of --slurm), or one of the
    catalog's models or GPUs.
    """
    options = [argument for argument in arguments if argument.name.startswith("--")]
    name = unexpected[0].strip("-").lower().replace("_", "-")
    for option in options:
        if f"--{name}" in option.names:
            return option.name if option.is_flag() else _with_value(option, unexpected[1:2])
    matches = [
        option for option in options if name in (*choices_of(option.hint), *_catalog_names(option, name))
    ]
    return f"{matches[0].name} {name}" if len(matches) == 1 else ""


def _catalog_names(option: Argument, name: str) -> tuple[str, ...]:
    """Return the name in a tuple if it begins a name of the catalog whose names the option takes; else ().

    The catalogs are those of models and GPUs.
    """
    from clusterwright.catalog.gpus import gpus
    from clusterwright.catalog.models import architectures
    from clusterwright.cli._live_names import GPUS, MODELS

    catalogs = {GPUS.completer: gpus, MODELS.completer: architectures}
    catalog = catalogs.get(option.parameter.completer)
    return (name,) if catalog and name and any(known.startswith(name) for known in catalog()) else ()


def _with_value(argument: Argument, value: Sequence[str]) -> str:
    placeholder = "VERSION" if argument.name in ("--slurm", "--driver") else "VALUE"
    is_version = value and value[0].lower() not in _NEWEST
    return f"{argument.name} {shlex.quote(value[0]) if is_version else placeholder}"


def releases_note(option: str) -> str:
    """Return a note with the known releases of Slurm, if the option is --slurm without one; else empty."""
    name, _space, value = option.partition(" ")
    if name != "--slurm":
        return ""
    from clusterwright.config.slurm_keys import RELEASES

    if value in RELEASES:
        return ""
    return "; " + _("the releases are {releases}", releases=", ".join(RELEASES))


def choices_of(hint: Any) -> tuple[str, ...]:
    """Return the texts that an option of this type accepts; empty if it is no choice."""
    return tuple(_choices(hint))


def _choices(hint: Any) -> Iterator[str]:
    for inner in get_args(hint):
        if isinstance(inner, str):
            yield inner
        else:
            yield from _choices(inner)


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
    if not program or program[0].endswith(SPECS):
        return ""
    program[:0] = ["python"] if program[0].endswith(".py") else []
    return shlex.join(("wright", "train", *typed, "--", *program))


def _is_value(token: str) -> bool:
    """Return True for a token after an option of another tool that is its value, and not the program."""
    return not token.startswith("-") and not token.endswith(_SCRIPTS)
