"""Slurm's ports are a range that is free and large enough."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash
from clusterwright.config.rules._members import members

# Defaults of slurmctld, slurmd, slurmdbd (slurm.conf(5)), node_exporter, Prometheus and Alertmanager; and ours.
USED = {
    6817: "slurmctld",
    6818: "slurmd",
    6819: "slurmdbd",
    9090: "Prometheus",
    9093: "Alertmanager",
    9098: "our program for chat rooms",
    9100: "node_exporter",
    9105: "our exporter",
}
_PORTS = ("slurm", "ports")


def slurm(cluster: Cluster) -> Iterator[Clash]:
    """The ports of srun run upwards and leave the ports of other services alone, and suffice."""
    first, last = cluster.slurm.ports
    if first > last:
        yield Clash(
            "port-range",
            f"srun's ports run from {first} down to {last}",
            f"write [{last}, {first}]",
            (_PORTS,),
        )
    for port, service in {**USED, cluster.ssh.port: "sshd"}.items():
        if first <= port <= last:
            side = (("ssh", "port"),) if service == "sshd" else ()
            yield Clash(
                "port-range",
                f"srun's ports {first} to {last} hold {port}, where {service} listens",
                "take a range that no service uses, such as [60001, 63000]",
                (_PORTS, *side),
            )
    yield from _too_few(cluster, last - first + 1)


def _too_few(cluster: Cluster, ports: int) -> Iterator[Clash]:
    """slurm.conf(5), SrunPortRange: an srun opens 4 ports, and 2 more for every 48 hosts beyond the first 48."""
    hosts = len(members(cluster, "compute"))
    needs = 4 + 2 * max(0, -(-hosts // 48) - 1)
    if 0 < ports < needs:
        first = cluster.slurm.ports[0]
        yield Clash(
            "port-range",
            f"srun has {ports} ports, but one over all {hosts} hosts opens {needs}",
            f"write at least [{first}, {first + needs - 1}]; some thousand serve many jobs at once",
            (_PORTS, ("nodes",)),
        )
