"""Read the state of a run of the cluster, and cancel it."""

from __future__ import annotations

from typing import Any

from clusterwright.config.cluster import Cluster
from clusterwright.edge import slurm
from clusterwright.edge.answers import parse_answer
from clusterwright.edge.bundler import RUNS, program_command, program_input
from clusterwright.edge.host import Host
from clusterwright.edge.processes import CommandResult
from clusterwright.edge.ssh import Remote
from clusterwright.launch.listing import no_run
from clusterwright.launch.run import runs_folder
from clusterwright.onhost.runs.run_jobs import NO_RUN
from clusterwright.provision.apply import remote_of

_LIMIT_S = 330.0  # run_jobs.py reads for at most 300 s


def status(name: str, cluster: Cluster, remote: Remote | None = None) -> dict[str, Any]:
    """Return the state of a run as `wright status --json` prints it; times are in seconds, sizes in bytes.

    `name` is the name of a run, a job id, or `last`.

    Raises:
        WrightError: `no-run`, `unreachable`, or `slurm-said` with the output of the control host.
    """
    return parse_answer(_answer("status", name, cluster, remote, "json"), cluster.control.name)


def cancel(name: str, cluster: Cluster, remote: Remote | None = None) -> None:
    """Cancel a run and its successor jobs; the ranks save a checkpoint first, for which it waits up to 40 s.

    Raises:
        WrightError: `no-run`, `unreachable`, or `slurm-said` with the output of the control host.
    """
    _answer("cancel", name, cluster, remote)


def _answer(command: str, name: str, cluster: Cluster, remote: Remote | None, *more: str) -> CommandResult:
    host, runs = cluster.control.name, runs_folder(cluster)
    line = program_command(command, runs, name, *more)
    result = Host(remote or remote_of(cluster), host).run(line, stdin=program_input(RUNS), timeout_s=_LIMIT_S)
    if result.code == NO_RUN:
        raise no_run(name, cluster, runs, remote)
    return slurm.checked(result, host, "wright")
