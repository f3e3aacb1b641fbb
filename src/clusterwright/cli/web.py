"""`wright web`."""

from __future__ import annotations

from pathlib import Path

from clusterwright.cli._web_typed import HERE, NOBODY, Listens, Members


def web(cluster: Path | None = None, /, *, listens: Listens = HERE, members: Members = NOBODY) -> int:
    """Serve a page that shows the cluster: nodes, GPUs, jobs, queue, teams, alerts, and how it was before.

    Parameters
    ----------
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    """
    from clusterwright.cli._there import find_cluster
    from clusterwright.cli._web import change_users, serve_page

    where = find_cluster(cluster)
    if members.add_user is not None or members.remove_user is not None:
        return change_users(where, members)
    return serve_page(where, members.users, listens)
