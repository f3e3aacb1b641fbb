"""The command `wright`: one short file per command, named after it; a file that starts with _ is none.

A command's module imports only what its signature needs; the work is imported inside the function, so
that short commands stay quick. What `wright --help` lists is read from the files without running them.
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

if TYPE_CHECKING:
    from cyclopts import App

_ABOUT = N_("Plan, build, verify, run and repair GPU training clusters.")


def app() -> App:
    """The command tree; each command is imported when it is used."""
    from cyclopts import App, Parameter

    # plaintext: the other formats import a Markdown or reStructuredText reader for a few back-ticks.
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
    for name in _names():  # without their lines, which only the overview shows, and reads from all files
        tree.command(f"{__name__}.{name}:{name}", name=_spoken(name))
    return tree


def commands() -> list[tuple[str, str]]:
    """Every command and what it does, in one line."""
    from clusterwright.cli._listing import summary_line

    return [(_spoken(name), summary_line(__path__[0], name)) for name in _names()]


def _names() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def _spoken(name: str) -> str:
    """`add-hosts` is in add_hosts.py: a module's name takes no hyphen."""
    return name.replace("_", "-")


def main() -> None:
    """Run the command line; errors that a user can fix are shown as such, and exit with their code."""
    # Start-up only makes objects that stay; looking among them for garbage every 700 of them took a sixth of it.
    gc.set_threshold(50_000, 20, 20)
    # No plug-in of another package may change how our files are read; not looking for any saves 20 ms too.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
    try:
        arguments = _choose_language(sys.argv[1:])
        if arguments in ([], ["-h"], ["--help"]):
            sys.stdout.write(_overview())
            return
        outcome = app()(arguments, result_action="return_value")
    except WrightError as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:  # `wright ... | head`: the reader has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(141) from None
    raise SystemExit(outcome if isinstance(outcome, int) else 0)


def _choose_language(arguments: list[str]) -> list[str]:
    """Set the language of the process and return the arguments without `--lang`; what follows `--` is left alone.

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
                    _("{option} is `{value}`", option=name, value=value),
                    _("write one of {languages}", languages=", ".join(LANGUAGES)),
                    exit_code=EXIT_USAGE,
                )
            set_language(language)
            return [*arguments[:index], *arguments[end_index:]]
    return arguments


def _overview() -> str:
    listed = commands()
    width = max(len(name) for name, _ in listed)
    lines = [f"  {name:{width}}  {_(line)}" for name, line in listed]
    return "\n".join(
        (
            f"{_('Usage:')} wright COMMAND",
            "",
            _(_ABOUT),
            "",
            *lines,
            "",
            _("Every command takes --lang en or zh; else LC_ALL, LC_MESSAGES or LANG chooses the language."),
            _("Details: wright COMMAND --help. Start with: wright init --template lab, then wright lab up."),
            "",
        )
    )
