"""`wright apply CLUSTER`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from clusterwright.cli._care import USUALLY, Gently


def apply(
    cluster: Path,
    /,
    *,
    dry_run: Annotated[bool, Parameter(alias="-n", negative="")] = False,
    yes: Annotated[bool, Parameter(alias="-y", negative="")] = False,
    gently: Gently = USUALLY,
    timings: Annotated[bool, Parameter(negative="")] = False,
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
    gently
        How gently hosts are changed.
    timings
        Show where the time went, host by host and step by step, from the connection to the wait for other hosts.
    exit_code
        Exit with 3 when changes are pending: with --dry-run, or on hosts that were left out.
    json
        One JSON document on stdout.
    """
    from clusterwright.cli import _apply
    from clusterwright.config.load import load_cluster
    from clusterwright.provision.apply import apply as run
    from clusterwright.provision.apply import remote_of

    spec = load_cluster(cluster)
    asking = _apply.Asking(yes=yes, quiet=json, gently=gently)
    remote = remote_of(spec)
    care = _apply.care(gently, spec, remote)
    report = run(spec, str(cluster), remote, dry_run=dry_run, agree=asking, care=care)
    again = f"wright apply {cluster}"
    _apply.show(
        report, again, after=f"wright check {cluster}", shown=asking.shown, json=json, timings=timings
    )
    return _apply.exit_of(report, exit_code=exit_code)
