"""What the host can connect to."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.check.fact import HostSpec, fact, texts
from clusterwright.provision.render.firewall_table import CLUSTER_EXPORTER_PORT, EXPORTER_PORT
from clusterwright.provision.render.slurm_settings import CONTROL_PORT, NODE_PORT

DISCARD = 9  # RFC 863: a port that nobody listens on, so that only a firewall keeps it silent


def required_ports(spec: HostSpec) -> dict[str, str]:
    """What must be reachable from this host, by `address:port`, and what it is."""
    control, hosts = spec.cluster.control, spec.cluster.hosts()
    if not spec.is_control:
        return {f"{control.management}:{CONTROL_PORT}": f"slurmctld of {control.name}"}
    targets = {
        f"{host.management}:{NODE_PORT}": f"slurmd of {host.name}" for host in spec.cluster.hosts("compute")
    }
    monitoring = spec.cluster.monitoring
    for port, name, is_enabled in (
        (EXPORTER_PORT, "node_exporter", monitoring.node_exporter),
        (CLUSTER_EXPORTER_PORT, "exporter", monitoring.exporter),
    ):
        targets |= {f"{host.management}:{port}": f"{name} of {host.name}" for host in hosts if is_enabled}
    return targets


def forbidden(spec: HostSpec) -> str:
    """The `address:port` of the control host that must not answer; empty on the control host itself."""
    return "" if spec.is_control else f"{spec.cluster.control.management}:{DISCARD}"


def _arguments(spec: HostSpec) -> Sequence[str]:
    return (*required_ports(spec), *(f"-{target}" for target in [forbidden(spec)] if target))


@fact(_arguments, probe="connect", limit_s=10)
def ports(out: str) -> dict[str, str]:
    """By `address:port`: `open`, `refused` (no firewall, nobody listens), `silent`, or the system's words."""
    return texts(out)
