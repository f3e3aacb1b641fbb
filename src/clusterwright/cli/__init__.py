"""The command `wright`: one module per command, named after the command; a module that starts with _ is no command.

A command's module imports only what its signature needs and imports the rest inside the function, so that
short commands start fast. `wright --help` reads the summary lines from the files without importing them.
"""

from __future__ import annotations

import codecs
import gc
import os
import pkgutil
import sys
from io import TextIOWrapper
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NoReturn

from clusterwright.cli._global_options import OPTIONS, apply_global_options, help_last, is_json_requested
from clusterwright.errors import EXIT_BROKEN_PIPE, EXIT_INTERRUPTED, EXIT_USAGE, WrightError
from clusterwright.i18n import N_, _, current_language, language_of, set_language
from clusterwright.onhost.lib.clean_text import CleanStream, clean, code, unfiltered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cyclopts import App
    from cyclopts.argument import Argument

# The commands by what they are for, in the order of `wright --help`.
GROUPS = {
    N_("Plan"): ("init", "plan", "validate", "lint", "simulate", "schema", "explain"),
    N_("Build"): (
        *("render", "adopt", "apply", "diff", "rollback", "add-hosts", "remove-hosts", "upgrade"),
        *("state", "export", "kubernetes", "bundle", "bios"),
    ),
    N_("Verify"): ("check", "bench", "tune"),
    N_("Run"): ("train", "image", "jobs", "status", "logs", "curves", "cancel", "checkpoints", "dev"),
    N_("Observe"): ("top", "web", "report", "why", "mcp"),
    N_("Repair"): ("heal",),
    N_("Lab"): ("guide", "lab", "demo"),
    N_("Shell"): ("completion", "plugins"),
}
MOST = 10**9  # more than any count, size or rate that a command takes as a plain number, but --parameters
COMPLETE = "__complete"  # the first argument of the completion scripts' calls (Cyclopts)
_ERRORS = "clusterwright.ascii"
# in place of what the encoding of a terminal lacks
_ASCII = dict(zip("┃│─·“”µμ✓█░", '||--""uu+#.', strict=True)) | {"→": "->", "…": "...", "≥": ">=", "≤": "<="}
_ABOUT = N_("Plan, build, verify, run and repair GPU training clusters.")


def app(*, is_help: bool = False) -> App:
    """Return the command tree of `wright`; Cyclopts imports a command's module when the command is used.

    `is_help`: for the help of a command, whose formatter takes a moment to import.
    """
    from cyclopts import App, Parameter

    # plaintext: the other formats import a Markdown or reStructuredText parser for a few back-ticks.
    tree = App(
        name="wright",
        help=_ABOUT,
        version=_version,
        version_flags=("--version", "-V"),
        help_format="plaintext",
        config=(_check_texts, _check_rules),
        # no --no-json beside --json
        default_parameter=Parameter(negative=(), validator=_check_numbers, show_default=_default_text),
    )
    if is_help or current_language() != "en":
        from clusterwright.cli._help import TranslatedHelp

        tree.help_formatter = TranslatedHelp()
    for name in _modules():
        tree.command(f"{__name__}.{name}:{name}", name=_command_name(name))
    return tree


def _check_texts(_app: object, _command: object, arguments: Iterable[Argument]) -> None:
    """Refuse what Cyclopts would convert to another value: 1.5 for a whole number, an address for a path."""
    texts = [token.value for argument in arguments for token in argument.tokens]
    if any("://" in text or ("." in text and text[-1:].isdigit()) for text in texts):
        from clusterwright.cli._texts import refuse_texts

        refuse_texts(arguments)


def _check_rules(_app: object, command: tuple[str, ...], arguments: Iterable[Argument]) -> None:
    """Raise the error of options that exclude one another, or lack another one that they need."""
    if any(argument.tokens and argument.name[:2] == "--" for argument in arguments):
        from clusterwright.cli._option_rules import refuse_contradictions

        refuse_contradictions(tuple(command), arguments)


def _version() -> str:
    """Return Clusterwright's version; reading it takes milliseconds that no other command needs."""
    from clusterwright import __version__

    return __version__


def _check_numbers(_type: object, value: object) -> None:
    """Raise ValueError for a number that no option means: beyond MOST, infinite or NaN.

    Such numbers overflow or take forever. Of a dataclass of options, each field is checked.
    """
    for name, number in vars(value).items() if hasattr(value, "__dataclass_fields__") else [("", value)]:
        if isinstance(number, int | float) and not abs(number) <= MOST:
            option = f"--{name.replace('_', '-')}: " if name else ""
            raise ValueError(_("{option}must be a number of at most {max}", option=option, max=f"{MOST:.0e}"))


def _default_text(value: object) -> str | None:
    """Return the default of an option for its help; None where it means that the option is not set."""
    return None if value is None or value is False or value in ("", ()) else str(value)


def commands() -> list[tuple[str, str]]:
    """Return the name of every command and its summary line."""
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
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        _accept_all_characters(unfiltered(stream))
    # Everything that a command prints may contain text of other users.
    sys.stdout, sys.stderr = CleanStream(unfiltered(sys.stdout)), CleanStream(unfiltered(sys.stderr))
    set_language(language_of(os.environ))
    if sys.argv[1:2] == [COMPLETE]:
        _complete()
    try:
        outcome = _run(sys.argv[1:])
        sys.stdout.flush()  # here and not at the interpreter's exit, so that a full disk has its error
    except KeyboardInterrupt:
        raise SystemExit(EXIT_INTERRUPTED) from None
    except BrokenPipeError:  # `wright ... | head` has read enough
        _discard_output()
        raise SystemExit(EXIT_BROKEN_PIPE) from None
    except Exception as error:
        from clusterwright.cli._unexpected import explain, shows_traceback

        if shows_traceback(error):
            raise
        explained = explain(error, app)
        if isinstance(error, OSError):  # it may be stdout that cannot be written
            _discard_output()
            sys.stderr.write(_wrap(f"{explained}\n", sys.stderr))
            raise SystemExit(explained.exit_code) from None
        raise SystemExit(_report(explained)) from None
    raise SystemExit(outcome if isinstance(outcome, int) else 0)


def _run(options: list[str]) -> Any:
    """Run a command line, or print help; return what the command returns, or the exit code of its error."""
    arguments: list[str] = []
    try:
        arguments = help_last(apply_global_options(options))
        if arguments in ([], ["-h"], ["--help"], ["help"]):
            sys.stdout.write(_wrap(_overview(), sys.stdout))
            return 0
        is_help = bool({"--help", "-h"} & set(takewhile(lambda argument: argument != "--", arguments)))
        tree = app(is_help=is_help)
        if is_help:
            from clusterwright.cli._help import name_arguments

            name_arguments(tree, arguments)
        outcome = tree(arguments, result_action="return_value", exit_on_error=False, print_error=False)
        if is_help:
            from clusterwright.cli._examples import help_text

            sys.stdout.write(_wrap(help_text(arguments), sys.stdout))
    except WrightError as error:
        if arguments and error.exit_code == EXIT_USAGE:
            from clusterwright.cli._mistakes import with_others

            error = with_others(error, arguments, app())
        return _report(error)
    return outcome


def _open_closed_streams() -> None:
    """Open /dev/null in place of each standard stream that the caller closed, as cron and `>&-` do.

    Python sets such a stream to None.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


def _accept_all_characters(stream: Any) -> None:
    r"""Let the stream write each character that its encoding lacks in ASCII: a similar one, or a code such as `\u00e9`.

    Such an encoding is that of LC_ALL=C without Python's UTF-8 mode, or of a Latin-1 or GBK locale. Within a JSON
    document the codes mean the characters.
    """
    if isinstance(stream, TextIOWrapper):
        codecs.register_error(_ERRORS, _in_ascii)
        stream.reconfigure(errors=_ERRORS)


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(_ASCII.get(sign) or code(sign) for sign in signs), error.end


def _complete() -> NoReturn:
    """Print the names that a shell's completion script requests, in the protocol of Cyclopts, and exit with 0."""
    from clusterwright.cli._live_names import limit_time

    limit_time()
    sys.stdout = unfiltered(sys.stdout)  # the completers print harmless names only
    app()(sys.argv[1:], result_action="return_value", exit_on_error=False, print_error=False)
    raise SystemExit(0)


def _report(error: WrightError) -> int:
    """Print an error on stderr, or with --json as a document on stdout; return its exit code."""
    if not is_json_requested(sys.argv[1:]):
        sys.stderr.write(_wrap(f"{error}\n", sys.stderr))
    else:
        from clusterwright.cli._show import show_json

        show_json({"errors": error.findings, "exit_code": error.exit_code})
    return error.exit_code


def _wrap(text: str, stream: Any) -> str:
    """Return the text wrapped to the width of the stream's terminal."""
    from clusterwright.cli._wrapping import wrap_for_terminal

    return wrap_for_terminal(clean(text), stream)


def _discard_output() -> None:
    """Replace stdout by /dev/null, as writing the rest at the interpreter's exit would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _overview() -> str:
    summaries = dict(commands())
    width = max(map(len, summaries))
    lines = []
    for title, names in GROUPS.items():
        lines += [f"{_(title)}:", *(f"  {name:{width}}  {_(summaries[name])}" for name in names), ""]
    return "\n".join(
        (
            f"{_('Usage:')} wright COMMAND",
            "",
            _(_ABOUT),
            "",
            *lines,
            _("Options of every command:"),
            *(f"  {option:14}  {_(text)}" for option, text in OPTIONS.items()),
            "",
            _("Run wright COMMAND --help for details. To begin: wright guide."),
            "",
        )
    )
