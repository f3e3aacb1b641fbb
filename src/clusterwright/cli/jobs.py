"""`wright jobs`."""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from clusterwright.i18n import _


def jobs(*, cluster: Path | None = None, json: Annotated[bool, Parameter(negative="")] = False) -> int:
    """Show what is queued and running, how far each run has come, and how the last ones ended.

    Parameters
    ----------
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    json
        One JSON document.
    """
    from clusterwright.cli._connection import connection_to, find_cluster
    from clusterwright.cli._show import show_json, show_message, show_table
    from clusterwright.launch.listing import listed

    cluster_config = find_cluster(cluster)
    rows = listed(cluster_config, connection_to(cluster_config))
    if json:
        show_json(rows)
        return 0
    if not rows:
        show_message(_("nothing is queued and no run has been made; next: wright train job.yaml"))
        return 0
    show_table(
        ("job", "run", "user", "state", "elapsed", "step", "saved", "hosts", "why"),
        [tuple("-" if cell is None else str(cell) for cell in astuple(row)) for row in rows],
    )
    return 0
