"""`wright cancel JOB`."""

from __future__ import annotations

from pathlib import Path


def cancel(job: str, /, *, cluster: Path | None = None) -> int:
    """End a run and everything that would take over from it; the ranks are asked to save first.

    Parameters
    ----------
    job
        A run's name, a job id, `last`, or a run's folder on this machine.
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    """
    from clusterwright.cli._connection import find_cluster, run_jobs_command
    from clusterwright.launch.run import runs_folder

    folder = Path(job)
    if (folder / "job.json").exists():
        (folder / "cancelled").touch()
        return 0
    cluster_config = find_cluster(cluster)
    return run_jobs_command(cluster_config, "cancel", runs_folder(cluster_config), job)
