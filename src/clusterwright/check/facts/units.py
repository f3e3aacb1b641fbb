"""The services that a host must run, and their states."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.check.fact import HostSpec, fact

_MONITORING = ("prometheus.service", "prometheus-alertmanager.service", "clusterwright-notify.service")


def required_units(spec: HostSpec) -> tuple[str, ...]:
    """Return the units that the host's role and the cluster file require; of other roles only what is managed."""
    cluster, monitoring = spec.cluster, spec.cluster.monitoring
    has_firewall = cluster.manages("packet_filter") or cluster.manages("firewalld")
    names = ["ssh.service", *(["chrony.service"] if cluster.manages("clock") else []), "munge.service"]
    units = [*map(cluster.platform.unit, names)]
    units += ["slurmctld.service"] if spec.is_control else []
    units += ["slurmd.service"] if spec.is_compute else []
    has_database = cluster.manages("accounting") and spec.host == cluster.accountant
    units += ["mariadb.service", "slurmdbd.service"] if has_database else []
    units += ["clusterwright-firewall.service"] if has_firewall and cluster.security.firewall else []
    has_node_exporter = monitoring.node_exporter and cluster.manages("node_exporter")
    units += ["prometheus-node-exporter.service"] if has_node_exporter else []
    units += ["clusterwright-exporter.service"] if monitoring.exporter and cluster.manages("exporter") else []
    has_prometheus = monitoring.prometheus and cluster.manages("prometheus") and spec.host == cluster.control
    units += list(_MONITORING) if has_prometheus else []
    return tuple(units)


def _arguments(spec: HostSpec) -> Sequence[str]:
    return required_units(spec)


@fact("systemctl", "show", "--property=Id,ActiveState,SubState", _arguments)
def units(out: str) -> dict[str, str]:
    """State of each required unit, as systemd prints it: `active (running)`."""
    states = {}
    for block in out.strip().split("\n\n"):
        values = dict(line.split("=", 1) for line in block.splitlines())
        states[values["Id"]] = f"{values['ActiveState']} ({values['SubState']})"
    return states
