"""What `wright dev list` and `stop` show."""

from __future__ import annotations

from pathlib import Path


def show_list(file: Path | None, user: str | None, *, json: bool) -> int:
    """One row for each."""
    from clusterwright.cli._show import say, show_json, show_table
    from clusterwright.cli._there import find_cluster, way_to
    from clusterwright.launch.dev import listed

    cluster = find_cluster(file)
    rows = listed(cluster, way_to(cluster), user=user)
    columns = ("job", "kind", "user", "state", "elapsed", "limit", "host", "why")
    if json:
        show_json(rows)
    elif rows:
        show_table(columns, [tuple(row[each] for each in columns) for row in rows])
    else:
        say("no session is queued or up; next: wright dev --gpus 1")
    return 0


def end(job: str, file: Path | None, user: str | None) -> int:
    """It is over; who it was is said."""
    from clusterwright.cli._show import say
    from clusterwright.cli._there import find_cluster, way_to
    from clusterwright.launch.dev import stop

    cluster = find_cluster(file)
    for each in stop(job, cluster, way_to(cluster), user=user):
        say(f"stopped {each}")
    return 0
