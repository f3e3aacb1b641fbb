"""The services that a host must run, and their states."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.check.fact import HostSpec, fact

_MONITORING = ("prometheus.service", "prometheus-alertmanager.service", "clusterwright-notify.service")


def required_units(spec: HostSpec) -> tuple[str, ...]:
    """Return the units that the host's role and the cluster file require."""
    units = [*map(spec.cluster.platform.unit, ("ssh.service", "chrony.service", "munge.service"))]
    units += ["slurmctld.service"] if spec.is_control else []
    units += ["slurmd.service"] if spec.is_compute else []
    units += ["mariadb.service", "slurmdbd.service"] if spec.host == spec.cluster.accountant else []
    units += ["clusterwright-firewall.service"] if spec.cluster.security.firewall else []
    units += ["prometheus-node-exporter.service"] if spec.cluster.monitoring.node_exporter else []
    units += ["clusterwright-exporter.service"] if spec.cluster.monitoring.exporter else []
    has_prometheus = spec.cluster.monitoring.prometheus and spec.host == spec.cluster.control
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
