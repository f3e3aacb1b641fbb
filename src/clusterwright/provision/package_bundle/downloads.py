"""What downloads by apt and by dnf have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from clusterwright.edge.processes import run
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.provision.resources import Package

DOWNLOAD_S = 3600  # seconds: a CUDA toolkit is 3 GB


def run_manager(argv: Sequence[str], command: str, fix: str) -> str:
    """Run a package manager and return its output; `command` names it in an error.

    Raises:
        WrightError: it fails.
    """
    result = run(argv, timeout_s=DOWNLOAD_S)
    if not result.ok:
        message = _("`{command}` failed:\n{last_lines}", command=command, last_lines=result.last_lines(8))
        raise WrightError.from_code("bundle-gather", message, fix)
    return result.out


def counted(
    required: Sequence[Sequence[Package]], on_progress: Callable[[str], None]
) -> Iterator[Sequence[Package]]:
    """Yield each list of packages to download, after its number is reported by `on_progress`."""
    for number, packages in enumerate(required, 1):
        on_progress(_("downloading package list {number} of {count}", number=number, count=len(required)))
        yield packages
