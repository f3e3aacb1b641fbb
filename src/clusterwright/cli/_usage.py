"""Errors of a command line that Cyclopts refuses: what is wrong with it, and the line or option to write."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import replace
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
from clusterwright.cli._foreign_options import SPECS, foreign_fix, unknown_options
from clusterwright.cli._misplaced import (
    choices_of,
    list_option,
    option_of,
    options_last,
    releases_note,
    repeated_lines,
    train_line,
    verb_line,
)
from clusterwright.cli._numbers import number_spelling, number_without_unit, share_spelling
from clusterwright.cli._other_names import alias_of, command_fix, rank_choices
from clusterwright.cli._show import cluster_option
from clusterwright.errors import EXIT_USAGE, Finding, SpecError, WrightError, did_you_mean
from clusterwright.i18n import _
from clusterwright.units import QuantityError

if TYPE_CHECKING:
    from cyclopts.argument import Argument

_LEAST_SIMILAR = 0.75  # ratio of an option's name and the suggested one
_SIMILAR_CHOICE = 0.6
_MOST_OPTIONS = 12  # that a fix lists
_UNIT = re.compile(r"[kMGTP]?B|[KMGTP]iB|Gbit/s|GB/s|[kM]?W|s|m|min|h|d|w")
_LIMIT = re.compile(r"Must be (>=|<=|>|<) (\S+)")  # of Cyclopts


def usage_error(error: CycloptsError) -> WrightError:
    """Return the error of a command line with the fix; the texts of Cyclopts itself are English only."""
    cause = error.__cause__
    if isinstance(cause, QuantityError) and error.argument is not None:
        message = f"{_name_of(error.argument)}: {cause.message}"
        return WrightError.from_code("bad-quantity", message, cause.fix, exit_code=EXIT_USAGE)
    if isinstance(cause, SpecError) and error.argument is not None:
        name = _name_of(error.argument)
        findings = [replace(finding, message=f"{name}: {finding.message}") for finding in cause.findings]
        return WrightError(*findings, exit_code=EXIT_USAGE)
    handler = next((handle for kind, handle in _HANDLERS.items() if isinstance(error, kind)), None)
    message, fix = handler(error) if handler else ("", "")
    help_fix = _("run `{command} --help`", command=_command(error))
    return WrightError.from_code(
        "usage", message or _cyclopts_text(error), fix or help_fix, exit_code=EXIT_USAGE
    )


def _command(error: CycloptsError) -> str:
    return " ".join(("wright", *(error.command_chain or ())))


def _cyclopts_text(error: CycloptsError) -> str:
    """Return the text of a Cyclopts error on one line, without the list of commands and the final dot."""
    return " ".join(str(error).split()).partition(" Available commands:")[0].rstrip(".")


def _missing(error: MissingArgumentError) -> tuple[str, str]:
    argument = error.argument
    if argument is None:
        return "", ""
    typed_name = typed_option(error)
    if typed_name:
        return _("{option} has no value", option=typed_name), _(
            "write a value after the option: {option} {value}", option=typed_name, value=_value_name(argument)
        )
    finding = needs(error, [argument])
    return finding.message, finding.fix


def typed_option(error: MissingArgumentError) -> str:
    """Return the option of the line that has no value; empty if the argument is not on the line."""
    typed = [token.partition("=")[0] for token in error.root_input_tokens or ()]
    names = error.argument.names if error.argument else ()
    keyword = getattr(error, "keyword", None) or ""  # an option of a command that takes any
    return next((name for name in (*names, keyword) if name in typed and name.startswith("-")), "")


def needs(error: MissingArgumentError, missing: list[Argument]) -> Finding:
    """Return the finding about the arguments that a line lacks, with a line that has them."""
    command, names = _command(error), ", ".join(argument.name for argument in missing)
    meaning = _meaning(error, missing[0]) if len(missing) == 1 else ""
    message = _("`{command}` needs {name}", command=command, name=names) + (
        f" ({meaning})" if meaning else ""
    )
    example = next(iter(examples(error.command_chain or ())), "")
    fix = (
        _("for example: {line}; all options: {command} --help", line=example, command=command)
        if example
        else _("run `{command} --help`", command=command)
    )
    return Finding("usage", message, fix)


def _value_name(argument: Argument) -> str:
    """Return what stands for an argument's value in a fix: its first choice, or its type in capitals."""
    if choices := choices_of(argument.hint):
        return choices[0]
    names = {int: "NUMBER", float: "NUMBER", Path: "PATH"}
    hints = get_args(argument.hint) or (argument.hint,)
    return next(
        (names[hint] for hint in hints if hint in names), argument.name.lstrip("-[").rstrip("]").upper()
    )


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
    line = train_line(tokens, error.argument_collection) if command == "wright train" else ""
    if line and not any(fixes.values()):
        return message, _("write -- before the program and its options: {line}", line=line)
    unexplained = [name for name, fix in fixes.items() if not fix]
    texts = [fix if name in fix else f"{name}: {fix}" for name, fix in fixes.items() if fix]
    if line:
        return message, f"{'; '.join(texts)}: {line}"
    if len(fixes) == 1 and not unexplained:
        return message, fixes[unknown[0]]
    if unexplained:
        options = _options(error.argument_collection)
        texts.append(
            _("leave out {option}: the options are {options}", option=", ".join(unexplained), options=options)
            if options
            else _("leave out {option}: the command has no options", option=", ".join(unexplained))
        )
    return message, "; ".join(texts)


def _option_fix(command: str, option: str, tokens: list[str], valid_options: list[str]) -> str:
    """Return what to write in place of one option that the command lacks; empty if nothing is known."""
    if fix := foreign_fix(command.removeprefix("wright "), tokens, valid_options, only=option):
        return fix
    if option == "-":
        return _("name a file; the command reads no standard input")
    if match := _option_of_letter(option, valid_options):
        return _("write {here} in place of {option}", here=match, option=option)
    guess = _similar_option(option, valid_options)
    return _("did you mean {option}?", option=guess) if guess else ""


def _after_command(error: CycloptsError) -> list[str]:
    return list(error.root_input_tokens or ())[len(error.command_chain or ()) :]


def _similar_option(option: str, valid_options: Iterable[str]) -> str | None:
    """Return the valid option with `--` whose name is most similar; None if none is similar enough.

    Leading hyphens do not count, so that --lr is not similar to --cluster; a name that begins with the text is similar,
    if the text has three letters or more.
    """
    typed = option.lstrip("-")

    def similarity(name: str) -> float:
        candidate = name.lstrip("-")
        is_start = len(typed) > 2 and candidate.startswith(typed)
        return 1.0 if is_start else SequenceMatcher(None, typed, candidate).ratio()

    best = max((name for name in valid_options if name.startswith("--")), key=similarity, default=None)
    return best if best and similarity(best) >= _LEAST_SIMILAR else None


def _option_of_letter(option: str, valid_options: Iterable[str]) -> str | None:
    """Return the option of the command that begins with the letter of a short option; None if several do, or none."""
    letter = option.lstrip("-") if len(option) == 2 else ""
    names = {name for name in valid_options if letter and name.startswith(f"--{letter}")}
    return names.pop() if len(names) == 1 else None


def _unknown_command(error: UnknownCommandError) -> tuple[str, str]:
    command = _command(error)
    name = (error.unused_tokens or [""])[0]
    message = _("`{command}` has no command `{name}`", command=command, name=name)
    if error.app is None:
        return message, ""
    if name.startswith("-") and (line := options_last(error.app, command, _after_command(error))):
        return message, _("options go after the command: {line}", line=line)
    return message, command_fix(command, _after_command(error), error.app)


def _options_of(error: CycloptsError) -> list[str]:
    """Return the names of the options of the command whose arguments were wrong."""
    return [name for argument in _arguments_of(error) for name in argument.names]


def _arguments_of(error: CycloptsError) -> list[Argument]:
    if error.app is None or not error.app.default_command:
        return []
    return list(error.app.assemble_argument_collection())


def _comparison(error: UnusedCliTokensError) -> str:
    """Return the line that compares the two files of `wright diff OLD NEW`; empty for another line."""
    files = [token for token in _after_command(error) if token.endswith(SPECS)]
    if _command(error) != "wright diff" or len(files) != 2:
        return ""
    return f"wright diff {shlex.quote(files[1])} {cluster_option(Path(files[0]))}"


def _unused(error: UnusedCliTokensError) -> tuple[str, str]:
    command = _command(error)
    unused = error.unused_tokens or ["-"]
    message = _("unexpected argument `{argument}`", argument=" ".join(unused))
    if line := _comparison(error):
        return message, _("to compare two files: {line}", line=line)
    valid_options = _options_of(error)
    if unused[0].endswith(SPECS) and "--cluster" in valid_options:
        return message, _("name the cluster file with {option}", option=cluster_option(Path(unused[0])))
    previous = next((a for a, b in pairwise(_after_command(error)) if b == unused[0]), "")
    if _UNIT.fullmatch(unused[0]) and previous[:1].isdigit():
        return message, _("write {number}", number=previous + unused[0])
    if line := list_option(_after_command(error), unused, _arguments_of(error)):
        return message, _("write {line}", line=line)
    if option := option_of(unused, _arguments_of(error)):
        return message, _("write the value as an option: {line}", line=f"{command} {option}") + releases_note(
            option
        )
    typed = {token.partition("=")[0] for token in _after_command(error)}
    option = next((name for name in ("--hosts", "--out") if name in valid_options and name not in typed), "")
    if option and not unused[0].startswith("-"):
        value = shlex.quote(unused[0])
        return message, _("write the option before its value: {option} {value}", option=option, value=value)
    subcommands = [subcommand for subcommand in error.app or () if not subcommand.startswith("-")]
    if line := verb_line(command, _after_command(error), subcommands):
        return message, _("run `{command}`", command=line)
    if guess := did_you_mean(unused[0], subcommands, _SIMILAR_CHOICE).strip():
        return message, _("{guess} All commands: {line}", guess=guess, line=f"{command} --help")
    arguments = [argument for argument in _arguments_of(error) if argument.parse and not argument.children]
    names = [argument.name for argument in arguments if not argument.name.startswith("-")]
    if len(names) == 1 and (line := repeated_lines(command, _after_command(error))):
        return message, _("run the command for each {name}: {line}", name=names[0], line=line)
    options = _options(arguments)
    return message, (
        _(
            "omit the argument: `{command}` takes {names} and the options {options}",
            command=command,
            names=" ".join(names),
            options=options,
        )
        if names
        else _("omit the argument: `{command}` takes the options {options}", command=command, options=options)
    )


def _options(arguments: Iterable[Argument]) -> str:
    """Return the names of the first options that a command's help shows, and how many more there are, as text."""
    visible = (argument.name for argument in arguments if argument.show and not argument.children)
    listed = [name for name in dict.fromkeys(visible) if name.startswith("-") and "[" not in name]
    omitted = len(listed) - _MOST_OPTIONS
    return ", ".join(listed[:_MOST_OPTIONS]) + (f" ... (+{omitted})" if omitted > 0 else "")


def _repeated(error: RepeatArgumentError) -> tuple[str, str]:
    option = error.token.keyword or ""
    tokens = " ".join(_after_command(error)).replace(f"{option}=", f"{option} ").split(" ")
    values = [value for name, value in pairwise(tokens) if name == option]
    if hosts := list_option([option, *values], values[1:], _arguments_of(error)):
        return _("{option} is given more than once", option=option), _("write {line}", line=hosts)
    return _("{option} is given more than once", option=option), _("write {option} once", option=option)


def _invalid(error: ValidationError) -> tuple[str, str]:
    argument = error.argument
    limit = _LIMIT.match(error.exception_message)
    if argument is None or not argument.tokens:
        return "", ""
    if not limit:
        return f"{_name_of(argument)}: {error.exception_message}", ""
    option, value = _name_of(argument), argument.tokens[0].value
    bound = limit[2].rstrip(".")
    message = {
        ">=": _("{option} is {value}, but must be at least {limit}", option=option, value=value, limit=bound),
        "<=": _("{option} is {value}, but must be at most {limit}", option=option, value=value, limit=bound),
        ">": _("{option} is {value}, but must be more than {limit}", option=option, value=value, limit=bound),
        "<": _("{option} is {value}, but must be less than {limit}", option=option, value=value, limit=bound),
    }[limit[1]]
    least = bound if "=" in limit[1] else str(int(float(bound)) + 1) if limit[1] == ">" else ""
    return message, _("write {option} {limit}", option=option, limit=least) if least else ""


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
        meaning = _meaning(error, error.argument)
        if not is_integer and (
            spelling := share_spelling(value) or number_without_unit(value, option, meaning)
        ):
            return message, _("write {number}", number=prefix + spelling)
        if spelling := number_spelling(value, is_integer=is_integer):
            return message, _("write {number}", number=prefix + spelling)
        example = "8" if is_integer else "1.5"
        fix = _("write digits only, such as {number}", number=prefix + example)
        return message, fix if prefix else f"{fix} ({meaning})"
    choices = [choice for choice in get_args(error.target_type) if isinstance(choice, str)]
    if not choices:
        return "", ""
    message = _("{option} cannot be `{value}`", option=option, value=value)
    nearest = rank_choices(value, choices)
    likely = [
        name
        for name in choices
        if name[:1].lower() == value[:1].lower() or _is_similar(value.lower(), name.lower())
    ]
    guess = did_you_mean(value, likely, _SIMILAR_CHOICE)
    if not guess and alias_of(value, choices):
        guess = _("did you mean {names}?", names=f"`{nearest[0]}`") + " "
    return message, guess + _("choose one of {choices}", choices=", ".join(nearest))


def _is_similar(text: str, name: str) -> bool:
    """Return True for a name so similar that it may be meant by a text with another first letter."""
    return SequenceMatcher(None, text, name).ratio() >= _LEAST_SIMILAR


def _meaning(error: CycloptsError, argument: Argument) -> str:
    """Return the help of an argument; Cyclopts reads docstrings only for pages of help."""
    app = error.app
    documented = app.assemble_argument_collection(parse_docstring=True) if app and app.default_command else ()
    text = next(
        (candidate.parameter.help or "" for candidate in documented if candidate.name == argument.name), ""
    )
    return re.split(r"\. |。", _(" ".join(text.split())))[0].rstrip(".。")


_HANDLERS: dict[type[CycloptsError], Callable[[Any], tuple[str, str]]] = {
    MissingArgumentError: _missing,
    UnknownOptionError: _unknown_option,
    UnknownCommandError: _unknown_command,
    UnusedCliTokensError: _unused,
    RepeatArgumentError: _repeated,
    ValidationError: _invalid,
    CoercionError: _coercion,
}
