"""Host metrics on the management network."""

from __future__ import annotations

from clusterwright.build.distribution import distribution
from clusterwright.build.render.firewall_table import EXPORTER_PORT
from clusterwright.build.resources import File, Given, Package, Resource, Unit
from clusterwright.spec.cluster import Cluster, Host

AFTER = ("base",)

NAME = "prometheus-node-exporter"
# EPEL's packages have named their unit and its variables in more than one way; the program has one name.
RHEL_UNIT = """[Unit]
Description=Host metrics (clusterwright)
After=network-online.target
Wants=network-online.target

[Service]
ExecStart=/usr/bin/node_exporter {argument}
DynamicUser=yes
Restart=on-failure

[Install]
WantedBy=multi-user.target
"""


def node_exporter(cluster: Cluster, host: Host, given: Given) -> tuple[Resource, ...]:
    """The distribution's node_exporter, listening on the management address and nowhere else."""
    if not cluster.monitoring.node_exporter:
        return ()
    system, argument = distribution(cluster), f"--web.listen-address={host.management}:{EXPORTER_PORT}"
    if system.family == "rhel":
        path, text = f"/etc/systemd/system/{NAME}.service", RHEL_UNIT.format(argument=argument)
    else:
        path, text = f"/etc/default/{NAME}", f'ARGS="{argument}"\n'
    settings = File(path=path, content=given.header() + text)
    package = Package(name=system.package(NAME))
    return (package, settings, Unit(name=f"{NAME}.service", restart_on=(settings.id,)))
