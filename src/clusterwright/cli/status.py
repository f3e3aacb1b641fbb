"""`wright status JOB`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from clusterwright.cli._live_names import RUNS


def status(
    job: Annotated[str, RUNS] = "last",
    /,
    *,
    cluster: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
    metrics: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Show the state of a run: step, remaining time, checkpoints, peer replicas, standby hosts, failures and goodput.

    Parameters
    ----------
    job
        Name of a run, job id, `last`, path of a slurm-123.out, or the folder of a run on this machine.
    cluster
        Cluster file, or ssh://HOST; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml, else Slurm on this machine.
    json
        Print one JSON document on stdout.
    metrics
        Print Prometheus metrics, for the textfile collector of node_exporter.
    """
    from clusterwright.cli import _connection, _run_output

    form = "json" if json else "metrics" if metrics else "text"
    run = _connection.find_run(job, cluster)
    return _run_output.run_jobs_command(run.cluster, "status", run.runs, run.name, form, wraps=form == "text")
