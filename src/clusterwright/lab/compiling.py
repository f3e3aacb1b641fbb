"""Run this machine's C compiler, for the parts of a lab that are built from C sources."""

from __future__ import annotations

import shutil

from clusterwright.edge.processes import run
from clusterwright.i18n import _

COMPILERS = ("cc", "gcc", "clang")
PACKAGES = "gcc libc6-dev"
LIMIT_S = 120


def compiler() -> str | None:
    """Return the path of a C compiler on this machine; None if there is none."""
    return next((path for name in COMPILERS if (path := shutil.which(name))), None)


def compiled(*arguments: str, packages: str = PACKAGES) -> str:
    """Compile with these compiler arguments; return "" on success, else the error with the packages to install."""
    program = compiler()
    if program is None:
        return _("no C compiler is installed (apt-get install {packages})", packages=packages)
    result = run((program, *arguments), timeout_s=LIMIT_S)
    message = _(
        "{program} exited with code {code} (apt-get install {packages}): {last_lines}",
        program=program,
        code=result.code,
        packages=packages,
        last_lines=result.last_lines(),
    )
    return "" if result.ok else message
