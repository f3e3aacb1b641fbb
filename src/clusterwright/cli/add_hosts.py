"""`wright add-hosts CLUSTER GROUP HOSTS`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def add_hosts(
    cluster: Path,
    group: str,
    hosts: str,
    /,
    *,
    dry_run: Annotated[bool, Parameter(alias="-n")] = False,
    yes: Annotated[bool, Parameter(alias="-y")] = False,
    json: bool = False,
) -> int:
    """Add hosts to a node group without stopping jobs.

    Updates the cluster file, builds the new hosts, then updates all other hosts.

    Parameters
    ----------
    cluster
        Cluster file; its comments are preserved.
    group
        Node group; the new hosts get its next addresses.
    hosts
        New hosts, as a hostlist.
    dry_run
        Show the changes of the file and of the hosts; change nothing.
    yes
        Do not ask for confirmation.
    json
        Print one JSON document on stdout.
    """
    from clusterwright.cli import _members

    return _members.add(cluster, group, hosts, _members.MemberOptions(dry_run=dry_run, yes=yes, json=json))
