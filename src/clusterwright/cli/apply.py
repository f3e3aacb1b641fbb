"""`wright apply CLUSTER`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def apply(
    cluster: Path,
    /,
    *,
    dry_run: Annotated[bool, Parameter(alias="-n", negative="")] = False,
    yes: Annotated[bool, Parameter(alias="-y", negative="")] = False,
    exit_code: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Make the hosts what the cluster file says.

    Parameters
    ----------
    cluster
        The cluster file.
    dry_run
        Show every change and what it costs running jobs; change nothing.
    yes
        Do not ask.
    exit_code
        With --dry-run: exit with 3 when changes are pending.
    json
        One JSON document on stdout.
    """
    from clusterwright.build.apply import apply as run  # noqa: PLC0415 (start-up time)
    from clusterwright.build.apply import remote_of  # noqa: PLC0415
    from clusterwright.cli import _apply  # noqa: PLC0415
    from clusterwright.cli._show import show_json  # noqa: PLC0415
    from clusterwright.errors import EXIT_CHANGES_PENDING, EXIT_DONE, EXIT_FAILED  # noqa: PLC0415
    from clusterwright.spec.load import load_cluster  # noqa: PLC0415

    spec = load_cluster(cluster)
    asking = _apply.Asking(yes=yes, quiet=json)
    report = run(spec, str(cluster), remote_of(spec), dry_run=dry_run, agree=asking)
    if json:
        show_json(report)
    else:
        _apply.show(report, str(cluster), shown=asking.shown)
    if not report.ok:
        return EXIT_FAILED
    return EXIT_CHANGES_PENDING if dry_run and exit_code and report.pending else EXIT_DONE
