"""`wright remove-hosts HOSTS`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from clusterwright.cli._live_names import HOSTS
from clusterwright.cli._quantities import Duration, Hostlist


def remove_hosts(  # noqa: PLR0913 (the options of the command line)
    hosts: Annotated[Hostlist, HOSTS],
    /,
    *,
    cluster: Path | None = None,
    wait: Duration = "1h",
    now: bool = False,
    cancel_jobs: bool = False,
    purge: bool = False,
    dry_run: Annotated[bool, Parameter(alias="-n")] = False,
    yes: Annotated[bool, Parameter(alias="-y")] = False,
    json: bool = False,
) -> int:
    """Remove hosts from the cluster without stopping jobs on other hosts.

    Drains the hosts, waits for their jobs, then removes the hosts from the cluster file and from Slurm.

    Parameters
    ----------
    hosts
        Hosts to remove, as a hostlist.
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml; its comments and the
        addresses of all other hosts are preserved.
    wait
        Longest wait for the jobs on the hosts to end.
    now
        Do not wait: hosts that still run jobs are only drained.
    cancel_jobs
        Cancel the jobs that run on the hosts.
    purge
        Also delete Clusterwright's files on the hosts; by default they stay and slurmd is stopped.
    dry_run
        Show the changes; change nothing.
    yes
        Do not ask for confirmation.
    json
        Print one JSON document on stdout.
    """
    from clusterwright.cli import _members
    from clusterwright.cli._connection import cluster_file
    from clusterwright.units import parse_duration

    options = _members.MemberOptions(dry_run=dry_run, yes=yes, json=json)
    how = _members.How(0 if now else parse_duration(wait), cancel=cancel_jobs, purge=purge)
    return _members.remove(cluster_file(cluster), hosts, how, options)
