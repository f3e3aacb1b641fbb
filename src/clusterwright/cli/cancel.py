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
    from clusterwright.cli._there import far_command, find_cluster, way_to  # noqa: PLC0415 (start-up time)
    from clusterwright.edge.processes import stream  # noqa: PLC0415
    from clusterwright.edge.sources import far_text  # noqa: PLC0415
    from clusterwright.train.launch import runs_folder  # noqa: PLC0415

    here = Path(job)
    if (here / "job.json").exists():
        (here / "cancelled").touch()
        return 0
    where = find_cluster(cluster)
    command = far_command("cancel", runs_folder(where), job)
    return stream(way_to(where).argv(where.control.name, command), stdin=far_text())
