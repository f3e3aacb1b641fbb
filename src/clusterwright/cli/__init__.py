"""The command `wright`: one short file per command, named after it; a file that starts with _ is none.

A command's module imports only what its signature needs; the work is imported inside the function, so that
`wright --help` stays quick.
"""

from __future__ import annotations

import pkgutil
import sys

from cyclopts import App

from clusterwright import __version__


def app() -> App:
    """The command tree; each command is imported when it is used or listed."""
    tree = App(name="wright", help="Makes, proves, runs and mends GPU training clusters.", version=__version__)
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            tree.command(f"{__name__}.{module.name}:{module.name}", name=module.name)
    return tree


def main() -> None:
    """Run the command line; errors that a user can mend are shown as such, and exit with their code."""
    from clusterwright.errors import WrightError  # noqa: PLC0415 (see above)

    try:
        outcome = app()(result_action="return_value")
    except WrightError as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    raise SystemExit(outcome if isinstance(outcome, int) else 0)
