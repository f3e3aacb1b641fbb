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

if TYPE_CHECKING:
    from cyclopts import App

_ABOUT = "Makes, proves, runs and fixes GPU training clusters."


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
    if sys.argv[1:] in ([], ["-h"], ["--help"]):
        sys.stdout.write(_overview())
        return
    from clusterwright.errors import WrightError

    try:
        outcome = app()(result_action="return_value")
    except WrightError as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:  # `wright ... | head`: the reader has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(141) from None
    raise SystemExit(outcome if isinstance(outcome, int) else 0)


def _overview() -> str:
    listed = commands()
    width = max(len(name) for name, _ in listed)
    lines = [f"  {name:{width}}  {line}" for name, line in listed]
    return (
        f"Usage: wright COMMAND\n\n{_ABOUT}\n\n"
        + "\n".join(lines)
        + "\n\nwright COMMAND --help says more. Start with: wright init --template lab, then wright lab up.\n"
    )
