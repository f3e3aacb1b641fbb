"""Take a snapshot of a cluster with one SSH command, or locally on its control host."""

from __future__ import annotations

import json
import socket

from clusterwright.config.cluster import Cluster
from clusterwright.config.nodes import NodeGroup
from clusterwright.edge.answers import evaluating, parse_answer
from clusterwright.edge.bundler import SNAPSHOT
from clusterwright.edge.host import Host
from clusterwright.edge.slurm import checked
from clusterwright.edge.ssh import FromHost, Remote
from clusterwright.monitor.gather.nodes import NodeSpec
from clusterwright.monitor.gather.reading import ClusterFacts, build_snapshot
from clusterwright.monitor.snapshot import Snapshot
from clusterwright.monitor.snapshot.lacks import NO_ACCOUNTING, NO_PROMETHEUS

PROMETHEUS, ALERTMANAGER = "http://127.0.0.1:9090", "http://127.0.0.1:9093"
LIMIT_S = 10.0  # of each query; slurmctld answers within one second unless it is overloaded


def control_remote(cluster: Cluster, remote: Remote) -> Remote:
    """Return the connection to the control host: a local shell if this machine has its name, else `remote`.

    In a lab always `remote`.
    """
    name = cluster.control.name
    is_control_host = cluster.lab is None and socket.gethostname().partition(".")[0] == name
    return FromHost(name, remote) if is_control_host else remote


def gather(cluster: Cluster, remote: Remote, *, limit_s: float = LIMIT_S) -> Snapshot:
    """Take a snapshot of the cluster by a program on the control host; parts that fail are in its `missing`.

    `limit_s` is the time limit of that program's queries.

    Raises:
        WrightError: the control host cannot be reached, or has no Python.
    """
    host = cluster.control.name
    control = Host(control_remote(cluster, remote), host)
    result = control.run_program(SNAPSHOT, request(cluster, limit_s), timeout_s=4 * limit_s)
    document = parse_answer(checked(result, host, "python3"), host)
    with evaluating(result, host):
        return build_snapshot(document, cluster_facts(cluster))


def request(cluster: Cluster, limit_s: float = LIMIT_S) -> str:
    """Return the JSON argument of the program on the control host: the sources and the time limit in seconds.

    The folder of runs is empty without a shared folder.
    """
    runs = f"{cluster.shared_folder}/runs" if cluster.shared_folder else ""
    return json.dumps(
        {"runs": runs, "prometheus": PROMETHEUS, "alertmanager": ALERTMANAGER, "limit_s": limit_s}
    )


def cluster_facts(cluster: Cluster) -> ClusterFacts:
    """Return what a snapshot needs of the cluster file: compute hosts, shares of teams, reasons for parts not enabled.

    Shares are normalized to the sum 1.
    """
    specs_by_group = {name: _node_spec(name, group) for name, group in cluster.nodes.items()}
    places = {host.name: specs_by_group[host.group_name] for host in cluster.hosts("compute")}
    total = sum(team.shares for team in cluster.teams.values()) or 1
    shares = {name: team.shares / total for name, team in cluster.teams.items()}
    absent = {}
    if not cluster.monitoring.prometheus:
        absent["measures"] = absent["alerts"] = NO_PROMETHEUS
    if not cluster.accounting.enabled:
        absent["shares"] = NO_ACCOUNTING
    return ClusterFacts(cluster.name, places, shares, absent)


def _node_spec(name: str, group: NodeGroup) -> NodeSpec:
    gpus = group.gpus
    return NodeSpec(name, group.switch or "", gpus.count if gpus else 0, gpus.model if gpus else "")
