"""`wright status JOB`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def status(
    job: str = "last",
    /,
    *,
    cluster: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
    metrics: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Show how a run stands: step, time left, checkpoints, copies, standbys, failures, and where its time went.

    Parameters
    ----------
    job
        A run's name, a job id, `last`, the path of a slurm-123.out, or a run's folder on this machine.
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    json
        One JSON document.
    metrics
        Prometheus text, for node_exporter's textfile collector.
    """
    from clusterwright.cli import _connection
    from clusterwright.launch.run import runs_folder

    form = "json" if json else "metrics" if metrics else "text"
    folder = Path(job)
    if (folder / "job.json").exists():
        return _connection.run_jobs_command(
            None, "status", str(folder.absolute().parent), folder.absolute().name, form
        )
    cluster_config = _connection.find_cluster(cluster)
    return _connection.run_jobs_command(cluster_config, "status", runs_folder(cluster_config), job, form)
