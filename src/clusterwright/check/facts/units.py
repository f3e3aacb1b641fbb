"""The services that a host must run, and those that failed."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.check.fact import Want, fact

_MONITORING = ("prometheus.service", "prometheus-alertmanager.service", "clusterwright-notify.service")


def wanted(want: Want) -> tuple[str, ...]:
    """The units that the host's role and the cluster file ask for."""
    units = [*map(want.cluster.platform.unit, ("ssh.service", "chrony.service", "munge.service"))]
    units += ["slurmctld.service"] if want.is_control else []
    units += ["slurmd.service"] if want.is_compute else []
    units += ["mariadb.service", "slurmdbd.service"] if want.host == want.cluster.accountant else []
    units += ["clusterwright-firewall.service"] if want.cluster.security.firewall else []
    units += ["prometheus-node-exporter.service"] if want.cluster.monitoring.node_exporter else []
    units += ["clusterwright-exporter.service"] if want.cluster.monitoring.exporter else []
    here = want.cluster.monitoring.prometheus and want.host == want.cluster.control
    units += list(_MONITORING) if here else []
    return tuple(units)


def _words(want: Want) -> Sequence[str]:
    return wanted(want)


@fact("systemctl", "show", "--property=Id,ActiveState,SubState", _words)
def units(out: str) -> dict[str, str]:
    """By wanted unit: `active (running)` and the like, as systemd words it."""
    found = {}
    for block in out.strip().split("\n\n"):
        values = dict(line.split("=", 1) for line in block.splitlines())
        found[values["Id"]] = f"{values['ActiveState']} ({values['SubState']})"
    return found
