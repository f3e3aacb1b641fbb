"""`wright logs JOB`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from clusterwright.cli._live_names import RUNS


def logs(
    job: Annotated[str, RUNS] = "last",
    /,
    *,
    follow: Annotated[bool, Parameter(name=("--follow", "-f"), negative="")] = False,
    cluster: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Show the output of all ranks of a run, each line with its host and rank; [job] marks lines of the supervisor.

    Identical lines of several ranks are shown once. With --follow, the last line of a terminal shows step and speed;
    without a terminal, stderr reports them every 30 seconds.

    Exit code of an ended run: 0 finished, 1 failed, 4 failed at the same step repeatedly, 143 canceled.

    Parameters
    ----------
    job
        Name of a run, job id, `last`, path of a slurm-123.out, or the folder of a run on this machine.
    follow
        Follow the logs until the run ends, through restarts and successor jobs.
    cluster
        Cluster file, or ssh://HOST; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml, else Slurm on this machine.
    json
        Print one JSON object per line: {"from": [..], "text": ..}, and with --follow {"progress": {..}}.
    """
    from clusterwright.cli import _connection, _run_output

    run = _connection.find_run(job, cluster)
    return _run_output.follow(run.cluster, run.runs, run.name, live=follow, json=json)
