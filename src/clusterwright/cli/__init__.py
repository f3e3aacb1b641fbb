"""The command `wright`: one module per command, named after the command; a module that starts with _ is no command.

A command's module imports only what its signature needs and imports the rest inside the function, so that
short commands start fast. `wright --help` reads the summary lines from the files without importing them.
"""

from __future__ import annotations

import gc
import os
import pkgutil
import sys
from typing import TYPE_CHECKING

from clusterwright import __version__
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import LANGUAGES, N_, _, current_language, language_of, set_language
from clusterwright.onhost.lib.clean_text import CleanStream, unfiltered

if TYPE_CHECKING:
    from cyclopts import App

_ABOUT = N_("Plan, build, verify, run and repair GPU training clusters.")


def app() -> App:
    """Return the command tree; Cyclopts imports a command's module when the command is used."""
    from cyclopts import App, Parameter

    # plaintext: the other formats import a Markdown or reStructuredText parser for a few back-ticks.
    tree = App(
        name="wright",
        help=_ABOUT,
        version=__version__,
        help_format="plaintext",
        default_parameter=Parameter(negative=()),  # no --no-json beside --json
    )
    if current_language() != "en":
        from clusterwright.cli._help import TranslatedHelp

        tree.help_formatter = TranslatedHelp()
    for name in _modules():
        tree.command(f"{__name__}.{name}:{name}", name=_command_name(name))
    return tree


def commands() -> list[tuple[str, str]]:
    """Return every command and its summary line."""
    from clusterwright.cli._listing import summary_line

    return [(_command_name(name), summary_line(__path__[0], name)) for name in _modules()]


def _modules() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def _command_name(module: str) -> str:
    return module.replace("_", "-")


def main() -> None:
    """Run the command line; print errors that a user can fix, and exit with their exit code."""
    # Start-up creates objects that live until the end; garbage collections every 700 objects took a sixth of its time.
    gc.set_threshold(50_000, 20, 20)
    # No plugin of another package may change how the files are parsed; skipping the search for plugins saves 20 ms.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
    # Everything that a command prints may contain text of other users.
    sys.stdout, sys.stderr = CleanStream(unfiltered(sys.stdout)), CleanStream(unfiltered(sys.stderr))
    try:
        arguments = _choose_language(sys.argv[1:])
        if arguments in ([], ["-h"], ["--help"]):
            sys.stdout.write(_overview())
            return
        outcome = app()(arguments, result_action="return_value")
        sys.stdout.flush()
    except WrightError as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:  # `wright ... | head` has read enough
        _discard_output()
        raise SystemExit(141) from None
    except Exception as error:
        from clusterwright.cli._unexpected import explain, shows_traceback

        if shows_traceback():
            raise
        explained = explain(error)
        sys.stderr.write(f"{explained}\n")
        _discard_output()
        raise SystemExit(explained.exit_code) from None
    raise SystemExit(outcome if isinstance(outcome, int) else 0)


def _discard_output() -> None:
    """Keep the interpreter from writing the rest of stdout at its exit, which would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _choose_language(arguments: list[str]) -> list[str]:
    """Set the language of the process and return the arguments without `--lang`; arguments after `--` stay.

    Raises:
        WrightError: there is no such language.
    """
    set_language(language_of(os.environ))
    end = arguments.index("--") if "--" in arguments else len(arguments)
    for index, argument in enumerate(arguments[:end]):
        if argument == "--lang" or argument.startswith("--lang="):
            name, equals, value = argument.partition("=")
            end_index = index + 1 if equals else index + 2
            value = value or "".join(arguments[index + 1 : end_index])
            language = next((choice for choice in LANGUAGES if choice == value), None)
            if language is None:
                raise WrightError.from_code(
                    "unknown-name",
                    _("{option} `{value}`: not a supported language", option=name, value=value),
                    _("use one of {languages}", languages=", ".join(LANGUAGES)),
                    exit_code=EXIT_USAGE,
                )
            set_language(language)
            return [*arguments[:index], *arguments[end_index:]]
    return arguments


def _overview() -> str:
    listed = commands()
    width = max(len(name) for name, _line in listed)
    lines = [f"  {name:{width}}  {_(line)}" for name, line in listed]
    return "\n".join(
        (
            f"{_('Usage:')} wright COMMAND",
            "",
            _(_ABOUT),
            "",
            *lines,
            "",
            _("Every command takes --lang en|zh (default: the language of LC_ALL, LC_MESSAGES or LANG)."),
            _(
                "Run wright COMMAND --help for details. To begin: wright init --template lab, then wright lab up."
            ),
            "",
        )
    )
