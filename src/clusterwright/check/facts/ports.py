"""What the host can connect to."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.check.fact import Want, fact, texts
from clusterwright.provision.render.firewall_table import EXPORTER_PORT, OWN_EXPORTER_PORT
from clusterwright.provision.render.slurm_settings import CONTROL_PORT, NODE_PORT

DISCARD = 9  # RFC 863: a port that nobody listens on, so that only a firewall keeps it silent


def wanted(want: Want) -> dict[str, str]:
    """What must be reachable from this host, by `address:port`, and what it is."""
    control, hosts = want.cluster.control, want.cluster.hosts()
    if not want.is_control:
        return {f"{control.management}:{CONTROL_PORT}": f"slurmctld of {control.name}"}
    found = {
        f"{host.management}:{NODE_PORT}": f"slurmd of {host.name}" for host in want.cluster.hosts("compute")
    }
    monitoring = want.cluster.monitoring
    for port, name, there in (
        (EXPORTER_PORT, "node_exporter", monitoring.node_exporter),
        (OWN_EXPORTER_PORT, "exporter", monitoring.exporter),
    ):
        found |= {f"{host.management}:{port}": f"{name} of {host.name}" for host in hosts if there}
    return found


def forbidden(want: Want) -> str:
    """The `address:port` of the control host that must not answer; empty on the control host itself."""
    return "" if want.is_control else f"{want.cluster.control.management}:{DISCARD}"


def _arguments(want: Want) -> Sequence[str]:
    return (*wanted(want), *(f"-{each}" for each in [forbidden(want)] if each))


@fact(_arguments, probe="connect", limit_s=10)
def ports(out: str) -> dict[str, str]:
    """By `address:port`: `open`, `refused` (no firewall, nobody listens), `silent`, or the system's words."""
    return texts(out)
