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
    """Let new hosts join a node group while jobs run: the file, the new hosts, and then all others.

    Parameters
    ----------
    cluster
        The cluster file; its comments stay.
    group
        The node group; the new hosts get its next addresses.
    hosts
        The new hosts, as a hostlist.
    dry_run
        Show what would change, in the file and on the hosts; change nothing.
    yes
        Do not ask.
    json
        One JSON document on stdout.
    """
    from clusterwright.cli import _members

    return _members.add(cluster, group, hosts, _members.MemberOptions(dry_run=dry_run, yes=yes, json=json))
