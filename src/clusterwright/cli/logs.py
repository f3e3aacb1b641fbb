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
    from clusterwright.cli import _there
    from clusterwright.launch.run import runs_folder

    here = Path(job)
    if (here / "job.json").exists():
        return _there.follow(None, str(here.absolute().parent), here.absolute().name, live=follow, json=json)
    where = _there.find_cluster(cluster)
    return _there.follow(where, runs_folder(where), job, live=follow, json=json)
