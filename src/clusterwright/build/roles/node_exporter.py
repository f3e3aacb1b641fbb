"""Host metrics on the management network."""

from __future__ import annotations

from clusterwright.build.render.firewall_table import EXPORTER_PORT
from clusterwright.build.resources import File, Given, Package, Resource, Unit
from clusterwright.spec.cluster import Cluster, Host

AFTER = ("base",)


def node_exporter(cluster: Cluster, host: Host, given: Given) -> tuple[Resource, ...]:
    """Debian's node_exporter, listening on the management address and nowhere else."""
    if not cluster.monitoring.node_exporter:
        return ()
    arguments = f'ARGS="--web.listen-address={host.management}:{EXPORTER_PORT}"\n'
    settings = File(path="/etc/default/prometheus-node-exporter", content=given.header() + arguments)
    unit = Unit(name="prometheus-node-exporter.service", restart_on=(settings.id,))
    return (Package(name="prometheus-node-exporter"), settings, unit)
