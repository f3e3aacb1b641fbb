"""`wright remove-hosts CLUSTER HOSTS`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def remove_hosts(  # noqa: PLR0913 (two things to say, the rest are options)
    cluster: Path,
    hosts: str,
    /,
    *,
    wait: str = "1h",
    now: bool = False,
    cancel_jobs: bool = False,
    purge: bool = False,
    dry_run: Annotated[bool, Parameter(alias="-n")] = False,
    yes: Annotated[bool, Parameter(alias="-y")] = False,
    json: bool = False,
) -> int:
    """Let hosts leave while jobs run elsewhere: drained, waited for, out of the file and of Slurm.

    Parameters
    ----------
    cluster
        The cluster file; its comments stay, and so do the addresses of all other hosts.
    hosts
        The hosts that leave, as a hostlist.
    wait
        How long their jobs may take to end.
    now
        Do not wait: where jobs still run, nothing but the drain is done.
    cancel_jobs
        Cancel the jobs that run there.
    purge
        Remove what we wrote on the hosts, too; otherwise it stays, with slurmd stopped.
    dry_run
        Show what would change; change nothing.
    yes
        Do not ask.
    json
        One JSON document on stdout.
    """
    from clusterwright.cli import _members
    from clusterwright.units import parse_duration

    options = _members.MemberOptions(dry_run=dry_run, yes=yes, json=json)
    how = _members.How(0 if now else parse_duration(wait), cancel=cancel_jobs, purge=purge)
    return _members.remove(cluster, hosts, how, options)
