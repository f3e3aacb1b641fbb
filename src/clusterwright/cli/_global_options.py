"""The options that every command takes; they may stand before or after its name, but not after `--`."""

from __future__ import annotations

import os

from clusterwright.errors import EXIT_USAGE, WrightError, unknown_name_fix
from clusterwright.i18n import LANGUAGES, N_, _, set_language

NO_COLOR = "NO_COLOR"  # no-color.org
QUIET = "CLUSTERWRIGHT_QUIET"
TRACEBACK = "CLUSTERWRIGHT_TRACEBACK"
OPTIONS = {
    "--lang en|zh": N_("Language; default: that of LC_ALL, LC_MESSAGES or LANG."),
    "--no-color": N_("Print no colors, like the environment variable NO_COLOR."),
    "-q, --quiet": N_("Print results and errors only: no progress, notes or next steps."),
    "-v, --verbose": N_("Show the traceback of an unexpected error."),
    "-V, --version": N_("Print the version."),
}
_SWITCHES = {
    "--no-color": NO_COLOR,
    "-q": QUIET,
    "--quiet": QUIET,
    "-v": TRACEBACK,
    "--verbose": TRACEBACK,
}


def apply_global_options(arguments: list[str]) -> list[str]:
    """Apply the options of every command to this process and return the other arguments.

    Raises:
        WrightError: there is no such language, or an argument is empty.
    """
    remaining, index, end = [], 0, _end_of_options(arguments)
    _refuse_empty(arguments[:end])
    while index < end:
        argument = arguments[index]
        name, equals, value = argument.partition("=")
        if name == "--lang":
            index += 0 if equals else 1
            _choose_language(value if equals else "".join(arguments[index : index + 1]))
        elif argument in _SWITCHES:
            os.environ[_SWITCHES[argument]] = "1"
        else:
            remaining.append(argument)
        index += 1
    return [*remaining, *arguments[end:]]


def help_last(arguments: list[str]) -> list[str]:
    """Return the arguments with `help COMMAND`, as git and kubectl have it, changed to `COMMAND --help`."""
    is_help = len(arguments) > 1 and arguments[0] == "help" and not arguments[1].startswith("-")
    return [*arguments[1:], "--help"] if is_help else arguments


def _refuse_empty(arguments: list[str]) -> None:
    """Raise WrightError for an empty argument: a path would mean the current folder, a hostlist all hosts."""
    for index, argument in enumerate(arguments):
        option = argument.removesuffix("=") if argument.startswith("--") and argument.endswith("=") else ""
        if argument and not option:
            continue
        previous = arguments[index - 1] if index else ""
        name = option or (previous if previous.startswith("-") else "")
        message = _("{option} has no value", option=name) if name else _("an argument is empty")
        fix = _(
            "write a value after the option, or omit the option; perhaps a variable of the shell is not set"
        )
        raise WrightError.from_code("usage", message, fix, exit_code=EXIT_USAGE)


def is_json_requested(arguments: list[str]) -> bool:
    """Return True if the arguments have --json, so that the command's errors are JSON as well."""
    return "--json" in arguments[: _end_of_options(arguments)]


def _end_of_options(arguments: list[str]) -> int:
    return arguments.index("--") if "--" in arguments else len(arguments)


def _choose_language(value: str) -> None:
    language = next((choice for choice in LANGUAGES if choice == value), None)
    if language is None:
        raise WrightError.from_code(
            "unknown-name",
            _("{option} `{value}`: not a supported language", option="--lang", value=value),
            unknown_name_fix(value, LANGUAGES),
            exit_code=EXIT_USAGE,
        )
    set_language(language)
