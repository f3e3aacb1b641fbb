"""`wright logs JOB`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def logs(
    job: str = "last",
    /,
    *,
    follow: Annotated[bool, Parameter(name=("--follow", "-f"), negative="")] = False,
    cluster: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Show what all ranks of a run say, each line with its host and rank; [job] is the supervisor.

    What several ranks say in the same words is shown once. With --follow a terminal also shows, in its last line, how
    far and how fast the run is; without a terminal stderr says so each half minute.

    Exit code when the run has ended: 0 finished, 1 failed, 4 failing at the same step again and again, 143 cancelled.

    Parameters
    ----------
    job
        A run's name, a job id, `last`, the path of a slurm-123.out, or a run's folder on this machine.
    follow
        Go on until the run has ended, through restarts and successors.
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    json
        One object a line: {"from": [..], "text": ..}, and with --follow {"progress": {..}}.
    """
    from clusterwright.cli import _connection
    from clusterwright.launch.run import runs_folder

    folder = Path(job)
    if (folder / "job.json").exists():
        return _connection.follow(
            None, str(folder.absolute().parent), folder.absolute().name, live=follow, json=json
        )
    cluster_config = _connection.find_cluster(cluster)
    return _connection.follow(cluster_config, runs_folder(cluster_config), job, live=follow, json=json)
