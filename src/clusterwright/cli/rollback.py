"""`wright rollback`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from clusterwright.cli._disruption import DEFAULT_DISRUPTION, DisruptionOptions
from clusterwright.cli._show import cluster_option


def rollback(
    *,
    cluster: Path | None = None,
    to: str = "",
    list_: Annotated[bool, Parameter(name="--list", negative="")] = False,
    dry_run: Annotated[bool, Parameter(alias="-n", negative="")] = False,
    yes: Annotated[bool, Parameter(alias="-y", negative="")] = False,
    disruption: DisruptionOptions = DEFAULT_DISRUPTION,
    exit_code: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Roll the hosts back to their state before an apply.

    Packages, users and groups stay and are listed. The next apply makes the same changes again.

    Parameters
    ----------
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    to
        Apply to roll back, with all later ones, as --list shows it; default: the newest.
    list_
        List the applies that can be rolled back; change nothing.
    dry_run
        Show every change and its effect on running jobs; change nothing.
    yes
        Do not ask for confirmation.
    disruption
        How running jobs are disrupted.
    exit_code
        Exit with 3 when changes are pending: with --dry-run, or on hosts that were skipped.
    json
        Print one JSON document on stdout.
    """
    from clusterwright.cli import apply
    from clusterwright.cli._connection import cluster_file
    from clusterwright.config.load import load_cluster
    from clusterwright.provision import rollback as stored
    from clusterwright.provision.apply import remote_of

    spec = load_cluster(file := cluster_file(cluster))
    if list_:
        return apply.show_undoable(stored.undoable(spec, str(file), remote_of(spec)), json=json)
    asking = apply.Asking(yes=yes, quiet=json, disruption=disruption)
    policy = apply.read_disruption_policy(disruption, spec, remote := remote_of(spec))
    report = stored.rollback(spec, str(file), remote, to=to, dry_run=dry_run, agree=asking, policy=policy)
    retry_command = f"wright rollback {cluster_option(file)}{' --to ' * bool(to)}{to}"
    following = f"wright diff {cluster_option(file)}"
    apply.show(report, retry_command, next_command=following, plan_displayed=asking.plan_displayed, json=json)
    return apply.exit_of(report, exit_code=exit_code)
