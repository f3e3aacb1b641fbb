"""TCP connections from the host to ports of the cluster."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.check.fact import HostSpec, fact, texts
from clusterwright.provision.render.firewall_table import CLUSTER_EXPORTER_PORT, EXPORTER_PORT
from clusterwright.provision.render.slurm_settings import CONTROL_PORT, NODE_PORT

DISCARD = 9  # RFC 863: without a listener a firewall drops the connection, an open port refuses it


def required_ports(spec: HostSpec) -> dict[str, str]:
    """Return which services this host must reach: their names by `address:port`.

    A control host must reach the slurmd and the exporters of the hosts, any other host slurmctld.
    """
    control, hosts = spec.cluster.control, spec.cluster.hosts()
    if not spec.is_control:
        return {f"{control.management}:{CONTROL_PORT}": f"slurmctld of {control.name}"}
    targets = {
        f"{host.management}:{NODE_PORT}": f"slurmd of {host.name}" for host in spec.cluster.hosts("compute")
    }
    monitoring = spec.cluster.monitoring
    for port, role, is_enabled in (
        (EXPORTER_PORT, "node_exporter", monitoring.node_exporter),
        (CLUSTER_EXPORTER_PORT, "exporter", monitoring.exporter),
    ):
        if is_enabled and spec.cluster.manages(role):
            targets |= {f"{host.management}:{port}": f"{role} of {host.name}" for host in hosts}
    return targets


def forbidden(spec: HostSpec) -> str:
    """Return the `address:port` of the control host that must not answer; empty for the control host itself."""
    return "" if spec.is_control else f"{spec.cluster.control.management}:{DISCARD}"


def _arguments(spec: HostSpec) -> Sequence[str]:
    return (*required_ports(spec), *(f"-{target}" for target in [forbidden(spec)] if target))


@fact(_arguments, probe="connect", limit_s=10)
def ports(out: str) -> dict[str, str]:
    """TCP connection result by `address:port`: `open`, `refused` (no listener), `silent` (timeout), or an error."""
    return texts(out)
