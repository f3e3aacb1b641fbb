"""`wright add-hosts GROUP HOSTS`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from clusterwright.cli._live_names import GROUPS
from clusterwright.cli._quantities import Hostlist


def add_hosts(
    group: Annotated[str, GROUPS],
    hosts: Hostlist,
    /,
    *,
    cluster: Path | None = None,
    dry_run: Annotated[bool, Parameter(alias="-n")] = False,
    yes: Annotated[bool, Parameter(alias="-y")] = False,
    json: bool = False,
) -> int:
    """Add hosts to a node group without stopping jobs.

    Updates the cluster file, builds the new hosts, then updates all other hosts.

    Parameters
    ----------
    group
        Node group; the new hosts get its next addresses.
    hosts
        New hosts, as a hostlist.
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml; its comments are preserved.
    dry_run
        Show the changes of the file and of the hosts; change nothing.
    yes
        Do not ask for confirmation.
    json
        Print one JSON document on stdout.
    """
    from clusterwright.cli import _members
    from clusterwright.cli._connection import cluster_file

    return _members.add(
        cluster_file(cluster), group, hosts, _members.MemberOptions(dry_run=dry_run, yes=yes, json=json)
    )
