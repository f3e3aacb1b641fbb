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
    from clusterwright.cli._there import ask, find_cluster
    from clusterwright.launch.run import runs_folder

    here = Path(job)
    if (here / "job.json").exists():
        (here / "cancelled").touch()
        return 0
    where = find_cluster(cluster)
    return ask(where, "cancel", runs_folder(where), job)
