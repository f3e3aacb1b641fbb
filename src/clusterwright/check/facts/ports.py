"""What the host can connect to."""

from __future__ import annotations

import json
from collections.abc import Sequence

from clusterwright.check.fact import Want, fact

SLURMCTLD, SLURMD, NODE_EXPORTER = 6817, 6818, 9100  # slurm.conf(5) defaults; node_exporter's own


def wanted(want: Want) -> dict[str, str]:
    """What must be reachable from this host, by `address:port`, and why."""
    control = want.cluster.control
    if not want.is_control:
        return {f"{control.management}:{SLURMCTLD}": f"slurmctld of {control.name}"}
    found = {
        f"{host.management}:{SLURMD}": f"slurmd of {host.name}" for host in want.cluster.hosts("compute")
    }
    if want.cluster.monitoring.node_exporter:
        found |= {
            f"{host.management}:{NODE_EXPORTER}": f"node_exporter of {host.name}"
            for host in want.cluster.hosts()
        }
    return found


def _arguments(want: Want) -> Sequence[str]:
    return tuple(wanted(want))


@fact(_arguments, probe="connect", limit_s=10)
def ports(out: str) -> dict[str, str]:
    """By `address:port`: `open`, `refused` (nobody listens), `silent` (a firewall drops it), or the system's words."""
    return {str(target): str(state) for target, state in json.loads(out).items()}
