"""Errors of a command line that Cyclopts refuses: what is wrong with it, and the line or option to write."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable
from decimal import Decimal
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from cyclopts import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
    ValidationError,
)

from clusterwright.cli._examples import examples
from clusterwright.cli._foreign_options import foreign_fix, unknown_options
from clusterwright.cli._misplaced import (
    choices_of,
    name_line,
    option_of,
    options_last,
    releases_note,
    unquoted_line,
    verb_line,
)
from clusterwright.cli._show import cluster_option
from clusterwright.errors import EXIT_USAGE, WrightError, did_you_mean
from clusterwright.i18n import _

if TYPE_CHECKING:
    from cyclopts.argument import Argument

_LEAST_SIMILAR = 0.75  # ratio of an option's name and the suggested one
_SIMILAR_COMMAND = 0.6
_UNITS = [
    "B",
    "kB",
    "MB",
    "GB",
    "TB",
    "PB",
    "KiB",
    "MiB",
    "GiB",
    "TiB",
    "PiB",
    "Gbit/s",
    "GB/s",
    "W",
    "kW",
    "MW",
    "s",
    "m",
    "min",
    "h",
    "d",
    "w",
]
_SPECS = (".yaml", ".yml")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_RATIO = re.compile(r"(\d+(?:\.\d+)?) ?(?::1|[x%])?$")  # 1,5 with its comma replaced, 2:1 or 2x
_SUFFIXED = re.compile(r"(\d+(?:\.\d+)?) ?([kKmMgGbBtT])")
_LIMIT = re.compile(r"Must be (>=|<=|>|<) (\S+)")  # of Cyclopts
_FACTORS = {"k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9, "t": 10**12}
# A command, and what other tools and habits call it.
_OTHER_NAMES = {
    "train": "sbatch srun torchrun submit run launch resume",
    "jobs": "squeue ps list ls runs queue get",
    "cancel": "scancel kill stop delete rm terminate",
    "top": "sinfo nodes hosts htop watch monitor",
    "web": "dashboard ui serve",
    "apply": "install deploy provision",
    "lab": "up down start destroy",
    "init": "create new",
    "check": "verify test doctor health",
    "why": "diagnose",
    "logs": "log tail",
    "bench": "benchmark nccl-tests",
    "heal": "fix repair",
    "status": "show info describe",
    "checkpoints": "ckpt checkpoint",
    "kubernetes": "k8s",
    "report": "sacct sreport usage",
    "rollback": "undo",
    "plan": "search cost size catalog fabric",
    "dev": "salloc shell",
    "guide": "tutorial",
}


def usage_error(error: CycloptsError) -> WrightError:
    """Return the error of a wrong command line with its fix; the texts of Cyclopts itself are English only."""
    handler = next((handle for kind, handle in _HANDLERS.items() if isinstance(error, kind)), None)
    message, fix = handler(error) if handler else ("", "")
    help_fix = _("run `{command} --help`", command=_command(error))
    return WrightError.from_code(
        "usage", message or _cyclopts_text(error), fix or help_fix, exit_code=EXIT_USAGE
    )


def _command(error: CycloptsError) -> str:
    return " ".join(("wright", *(error.command_chain or ())))


def _cyclopts_text(error: CycloptsError) -> str:
    """Return the text of a Cyclopts error on one line."""
    return " ".join(str(error).split()).partition(" Available commands:")[0].rstrip(".")


def _missing(error: MissingArgumentError) -> tuple[str, str]:
    command = _command(error)
    argument = error.argument
    if argument is None:
        return "", ""
    typed = [token.partition("=")[0] for token in error.root_input_tokens or ()]
    typed_name = next((name for name in argument.names if name in typed and name.startswith("-")), None)
    if typed_name:
        example = argument.name if typed_name not in argument.names else typed_name
        return _("{option} has no value", option=typed_name), _(
            "write a value after it: {option} {value}", option=example, value=_value_name(argument)
        )
    meaning = _(argument.parameter.help or "").rstrip(".。")
    message = _("`{command}` needs {name}", command=command, name=argument.name)
    others = foreign_fix(command.removeprefix("wright "), _after_command(error), _options_of(error))
    example = next(iter(examples(error.command_chain or ())), "")
    fix = (
        _("for example: {line}; all options: {command} --help", line=example, command=command)
        if example
        else ""
    )
    return message + (f" ({meaning})" if meaning else ""), "; ".join(filter(None, (others, fix)))


def _value_name(argument: Argument) -> str:
    """Return what stands for an argument's value in a fix: its first choice, or its type in capitals."""
    if choices := choices_of(argument.hint):
        return choices[0]
    names = {int: "NUMBER", float: "NUMBER", Path: "PATH"}
    hints = get_args(argument.hint) or (argument.hint,)
    return next((names[hint] for hint in hints if hint in names), argument.name.lstrip("-").upper())


def _unknown_option(error: UnknownOptionError) -> tuple[str, str]:
    command = _command(error)
    valid_options = [
        name for argument in error.argument_collection if argument.parse for name in argument.names
    ]
    option = (error.token.keyword or error.token.value).partition("=")[0]
    tokens = _after_command(error)
    unknown = unknown_options(tokens, valid_options) or [option]
    message = _("`{command}` has no option {option}", command=command, option=", ".join(unknown))
    fixes = {name: _option_fix(command, name, tokens, valid_options) for name in unknown}
    if command == "wright train" and not any(fixes.values()):
        line = _train_line(tokens, error.argument_collection)
        return message, _("write -- before the program and its options: {line}", line=line) if line else ""
    if len(fixes) == 1:
        return message, fixes[unknown[0]]
    rest = ", ".join(name for name, fix in fixes.items() if not fix)
    see = _("for {options} see `{command} --help`", options=rest, command=command) if rest else ""
    texts = (fix if name in fix else f"{name}: {fix}" for name, fix in fixes.items() if fix)
    return message, "; ".join(filter(None, (*texts, see))) if len(rest.split()) < len(unknown) else ""


def _option_fix(command: str, option: str, tokens: list[str], valid_options: list[str]) -> str:
    """Return what to write in place of one option that the command lacks; empty if nothing is known."""
    if fix := foreign_fix(command.removeprefix("wright "), tokens, valid_options, only=option):
        return fix
    if option == "-":
        return _("name a file; the command reads no standard input")
    guess = _similar_option(option, valid_options)
    return _("did you mean {option}?", option=guess) if guess else ""


def _after_command(error: CycloptsError) -> list[str]:
    return list(error.root_input_tokens or ())[len(error.command_chain or ()) :]


def _similar_option(option: str, valid_options: Iterable[str]) -> str | None:
    """Return the valid option with the most similar name; None if none is similar enough.

    Hyphens do not count, so that --lr is not similar to --cluster; a name that begins with the text is similar.
    """
    typed = option.lstrip("-")

    def similarity(name: str) -> float:
        candidate = name.lstrip("-")
        is_start = len(typed) > 2 and candidate.startswith(typed)
        return 1.0 if is_start else SequenceMatcher(None, typed, candidate).ratio()

    best = max((name for name in valid_options if name.startswith("--")), key=similarity, default=None)
    return best if best and similarity(best) >= _LEAST_SIMILAR else None


def _train_line(tokens: list[str], arguments: Iterable[Argument]) -> str:
    """Return the line of `wright train` with its own options first and the program after `--`.

    A file that Python runs gets `python` in front of it. Empty without a program, for a job file, and if an option that
    `wright train` does not have stands before the program.
    """
    options = {name: argument for argument in arguments for name in argument.names if name.startswith("-")}
    train_arguments, program, remaining = [], [], list(tokens)
    while remaining:
        token = remaining.pop(0)
        argument = options.get(token.partition("=")[0])
        if argument is None:
            program.append(token)
            continue
        train_arguments.append(token)
        if "=" not in token and remaining and not argument.is_flag():
            train_arguments.append(remaining.pop(0))
    if not program or program[0].startswith("-") or program[0].endswith(_SPECS):
        return ""
    program[:0] = ["python"] if program[0].endswith(".py") else []
    return shlex.join(("wright", "train", *train_arguments, "--", *program))


def _unknown_command(error: UnknownCommandError) -> tuple[str, str]:
    command = _command(error)
    name = (error.unused_tokens or [""])[0]
    message = _("`{command}` has no command `{name}`", command=command, name=name)
    subcommands = [subcommand for subcommand in error.app or () if not subcommand.startswith("-")]
    if (
        name.startswith("-")
        and error.app
        and (line := options_last(error.app, command, _after_command(error)))
    ):
        return message, _("options go after the command: {line}", line=line)
    if command != "wright" and (line := verb_line(command, _after_command(error), subcommands)):
        return message, _("run `{command}`", command=line)
    if line := unquoted_line(command, name, subcommands):
        return message, _("remove the quotes: {line}", line=line)
    if Path(name).suffix in _SPECS:
        return message, _("write the command first: {line}", line=shlex.join(("wright", "validate", name)))
    if command == "wright" and (wright_command := _similar_program(name.lower())):
        return message, _("see `{line}`", line=f"wright {wright_command} --help")
    if guess := did_you_mean(name, subcommands, _SIMILAR_COMMAND).strip():
        return message, _("{guess} All commands: {line}", guess=guess, line=f"{command} --help")
    if line := name_line(command, _after_command(error)):
        return message, _("run `{command}`", command=line)
    return message, _(
        "choose one of {choices}", choices=", ".join(subcommands)
    ) if command != "wright" else ""


def _options_of(error: CycloptsError) -> list[str]:
    """Return the names of the options of the command whose arguments were wrong."""
    return [name for argument in _arguments_of(error) for name in argument.names]


def _arguments_of(error: CycloptsError) -> list[Argument]:
    if error.app is None or not error.app.default_command:
        return []
    return list(error.app.assemble_argument_collection())


def _similar_program(name: str) -> str | None:
    return next((command for command, names in _OTHER_NAMES.items() if name in names.split()), None)


def _unused(error: UnusedCliTokensError) -> tuple[str, str]:
    command = _command(error)
    unused = error.unused_tokens or ["-"]
    message = _("unexpected argument `{argument}`", argument=" ".join(unused))
    if (
        command == "wright diff"
        and len(files := [t for t in _after_command(error) if t.endswith(_SPECS)]) == 2
    ):
        new = shlex.quote(files[1])
        return message, _(
            "to compare two files: {line}", line=f"wright diff {new} {cluster_option(Path(files[0]))}"
        )
    valid_options = _options_of(error)
    if unused[0].endswith(_SPECS) and "--cluster" in valid_options:
        return message, _("name the cluster file with {option}", option=cluster_option(Path(unused[0])))
    previous = next((a for a, b in pairwise(_after_command(error)) if b == unused[0]), "")
    if unused[0] in _UNITS and previous[:1].isdigit():
        return message, _("write {number}", number=previous + unused[0])
    if option := option_of(unused, _arguments_of(error)):
        return message, _("write it as an option: {line}", line=f"{command} {option}") + releases_note(option)
    for option in ("--hosts", "--out"):
        if option in valid_options and not unused[0].startswith("-"):
            return message, _(
                "write the option before it: {option} {value}", option=option, value=shlex.quote(unused[0])
            )
    subcommands = [subcommand for subcommand in error.app or () if not subcommand.startswith("-")]
    if line := verb_line(command, _after_command(error), subcommands):
        return message, _("run `{command}`", command=line)
    if guess := did_you_mean(unused[0], subcommands, _SIMILAR_COMMAND).strip():
        return message, _("{guess} All commands: {line}", guess=guess, line=f"{command} --help")
    return message, _("leave it out, or run `{command} --help`", command=command)


def _repeated(error: RepeatArgumentError) -> tuple[str, str]:
    option = error.token.keyword or ""
    return _("{option} is given more than once", option=option), _("write {option} once", option=option)


def _invalid(error: ValidationError) -> tuple[str, str]:
    argument = error.argument
    limit = _LIMIT.match(error.exception_message)
    if argument is None or not argument.tokens or not limit:
        return "", ""
    option, value = _name_of(argument), argument.tokens[0].value
    bound = limit[2].rstrip(".")
    message = {
        ">=": _("{option} is {value}, but must be at least {limit}", option=option, value=value, limit=bound),
        "<=": _("{option} is {value}, but must be at most {limit}", option=option, value=value, limit=bound),
        ">": _("{option} is {value}, but must be more than {limit}", option=option, value=value, limit=bound),
        "<": _("{option} is {value}, but must be less than {limit}", option=option, value=value, limit=bound),
    }[limit[1]]
    return message, _("write {option} {limit}", option=option, limit=bound) if "=" in limit[1] else ""


def _name_of(argument: Argument) -> str:
    keyword = argument.tokens[0].keyword if argument.tokens else None
    return keyword or argument.name.lstrip("-").upper()


def _coercion(error: CoercionError) -> tuple[str, str]:
    if error.argument is None or error.token is None:
        return "", ""
    option, value = error.token.keyword or error.argument.name.lstrip("-").upper(), error.token.value
    prefix = f"{option} " if option.startswith("-") else ""
    if error.target_type in (int, float):
        is_integer = error.target_type is int
        message = (
            _("{option}: `{value}` is not a whole number", option=option, value=value)
            if is_integer
            else _("{option}: `{value}` is not a number", option=option, value=value)
        )
        if spelling := _number(value, is_integer=is_integer):
            return message, _("write {number}", number=prefix + spelling)
        example = "8" if is_integer else "1.5"
        fix = _("write digits only, such as {number}", number=prefix + example)
        meaning = "" if prefix else _meaning(error, error.argument)
        return message, f"{fix} ({meaning})" if meaning else fix
    choices = [choice for choice in get_args(error.target_type) if isinstance(choice, str)]
    if not choices:
        return "", ""
    message = _("{option} cannot be `{value}`", option=option, value=value)
    guess = did_you_mean(value, choices, _SIMILAR_COMMAND)
    return message, guess + _("choose one of {choices}", choices=", ".join(choices))


def _meaning(error: CycloptsError, argument: Argument) -> str:
    """Return the help of an argument; Cyclopts reads docstrings only for pages of help."""
    app = error.app
    documented = app.assemble_argument_collection(parse_docstring=True) if app and app.default_command else ()
    text = next((other.parameter.help or "" for other in documented if other.name == argument.name), "")
    return _(" ".join(text.split())).rstrip(".。")


def _number(text: str, *, is_integer: bool) -> str:
    """Return how to write a number that has a comma, a suffix or a decimal point; empty if the text is none.

    A count of tokens with k is often a power of two, so that both are named.
    """
    stripped = text.strip().replace("_", "").lstrip("+")
    if _THOUSANDS.fullmatch(stripped):
        return stripped.replace(",", "")
    if not is_integer and (number := _RATIO.match(stripped.replace(",", "."))):
        return number[1]
    if match := _SUFFIXED.fullmatch(stripped):
        letter = match[2].lower()
        expanded = Decimal(match[1]) * _FACTORS[letter]
        binary = (
            _(" or {number}", number=int(Decimal(match[1]) * 1024)) if letter == "k" and is_integer else ""
        )
        return f"{int(expanded)}{binary}"
    try:
        value = Decimal(stripped)
    except ArithmeticError:
        return ""
    return str(int(value)) if value.is_finite() and value == int(value) and abs(value) < 10**18 else ""


_HANDLERS: dict[type[CycloptsError], Callable[[Any], tuple[str, str]]] = {
    MissingArgumentError: _missing,
    UnknownOptionError: _unknown_option,
    UnknownCommandError: _unknown_command,
    UnusedCliTokensError: _unused,
    RepeatArgumentError: _repeated,
    ValidationError: _invalid,
    CoercionError: _coercion,
}
