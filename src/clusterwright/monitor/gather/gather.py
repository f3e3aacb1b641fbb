"""The picture of a cluster, with one ssh to its control host, or none on it."""

from __future__ import annotations

import json
import socket
from typing import Any

from clusterwright.config.cluster import Cluster
from clusterwright.config.nodes import NodeGroup
from clusterwright.edge.bundler import SNAPSHOT
from clusterwright.edge.host import Host
from clusterwright.edge.processes import Done
from clusterwright.edge.slurm import checked
from clusterwright.edge.ssh import FromHost, Remote
from clusterwright.errors import WrightError
from clusterwright.monitor.gather.nodes import Place
from clusterwright.monitor.gather.reading import Known, picture_of
from clusterwright.monitor.picture import Picture
from clusterwright.monitor.picture.lacks import NO_ACCOUNTING, NO_PROMETHEUS

PROMETHEUS, ALERTMANAGER = "http://127.0.0.1:9090", "http://127.0.0.1:9093"
LIMIT_S = 10.0  # of each part; slurmctld answers within one, or is too busy to be asked


def way(cluster: Cluster, remote: Remote) -> Remote:
    """The remote, without ssh to the control host where this is it. A lab's control host is never this one."""
    name = cluster.control.name
    here = cluster.lab is None and socket.gethostname().partition(".")[0] == name
    return FromHost(name, remote) if here else remote


def gather(cluster: Cluster, remote: Remote, *, limit_s: float = LIMIT_S) -> Picture:
    """The cluster as it is now.

    Raises:
        WrightError: the control host was not reached, or has no Python.
    """
    host = cluster.control.name
    control = Host(way(cluster, remote), host)
    done = control.run_program(SNAPSHOT, request(cluster, limit_s), timeout_s=4 * limit_s)
    return picture_of(_parsed(checked(done, host, "python3"), host), known(cluster))


def request(cluster: Cluster, limit_s: float = LIMIT_S) -> str:
    """The argument of the program: where it reads, and for how long."""
    runs = f"{cluster.shared_folder}/runs" if cluster.shared_folder else ""
    return json.dumps(
        {"runs": runs, "prometheus": PROMETHEUS, "alertmanager": ALERTMANAGER, "limit_s": limit_s}
    )


def known(cluster: Cluster) -> Known:
    """What the cluster file says of what is shown."""
    of = {name: _place(name, group) for name, group in cluster.nodes.items()}
    places = {host.name: of[host.group_name] for host in cluster.hosts("compute")}
    total = sum(team.shares for team in cluster.teams.values()) or 1
    shares = {name: team.shares / total for name, team in cluster.teams.items()}
    absent = {}
    if not cluster.monitoring.prometheus:
        absent["measures"] = absent["alerts"] = NO_PROMETHEUS
    if not cluster.accounting.enabled:
        absent["shares"] = NO_ACCOUNTING
    return Known(cluster.name, places, shares, absent)


def _place(name: str, group: NodeGroup) -> Place:
    gpus = group.gpus
    return Place(name, group.switch or "", gpus.count if gpus else 0, gpus.model if gpus else "")


def _parsed(done: Done, host: str) -> dict[str, Any]:
    try:
        document = json.loads(done.out)
    except ValueError as why:
        raise WrightError.of(
            "slurm-said",
            f"{host} did not answer in our form: {done.last_lines(2)}",
            f"see what `ssh {host} true` prints; a login shell that prints something is in the way",
        ) from why
    return dict(document)
