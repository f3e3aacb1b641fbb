"""`wright jobs`."""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from clusterwright.i18n import _


def jobs(*, cluster: Path | None = None, json: Annotated[bool, Parameter(negative="")] = False) -> int:
    """Show queued, running and ended runs with their progress; without a cluster file, the local runs in ./runs.

    Parameters
    ----------
    cluster
        Cluster file, or ssh://HOST; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml, else Slurm on this machine.
    json
        Print one JSON document on stdout.
    """
    from clusterwright.cli._connection import LOCAL_RUNS, connection_to, find_cluster, has_only_local_runs
    from clusterwright.cli._live_names import store_runs
    from clusterwright.cli._show import show_json, show_message, show_next, show_table
    from clusterwright.launch.listing import list_jobs, list_local_runs

    if has_only_local_runs(cluster):
        rows = list_local_runs(LOCAL_RUNS.absolute())
    else:
        cluster_config = find_cluster(cluster)
        rows = list_jobs(cluster_config, connection_to(cluster_config))
        store_runs(cluster_config.name, (name for row in rows for name in (row.run, row.job_id) if name))
    if json:
        show_json(rows)
        return 0
    if not rows:
        show_message(_("no job is queued and no run exists"))
        show_next("wright train job.yaml")
        return 0
    show_table(
        ("job", "run", "user", "state", "elapsed", "step", "saved", "hosts", "reason"),
        [tuple("-" if cell is None else str(cell) for cell in astuple(row)) for row in rows],
    )
    return 0
