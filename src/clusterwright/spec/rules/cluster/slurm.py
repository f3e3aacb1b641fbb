"""Slurm's ports are a range that is free."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.spec.cluster import Cluster
from clusterwright.spec.rules._clash import Clash

# Defaults of slurmctld, slurmd, slurmdbd (slurm.conf(5)), node_exporter, Prometheus and Alertmanager.
_USED = {
    6817: "slurmctld",
    6818: "slurmd",
    6819: "slurmdbd",
    9090: "Prometheus",
    9093: "Alertmanager",
    9100: "node_exporter",
}
_PORTS = ("slurm", "ports")


def slurm(cluster: Cluster) -> Iterator[Clash]:
    """The ports of srun run upwards and leave the ports of other services alone."""
    first, last = cluster.slurm.ports
    if first > last:
        yield Clash(
            "port-range",
            f"srun's ports run from {first} down to {last}",
            f"write [{last}, {first}]",
            (_PORTS,),
        )
    for port, service in {**_USED, cluster.ssh.port: "sshd"}.items():
        if first <= port <= last:
            side = (("ssh", "port"),) if service == "sshd" else ()
            yield Clash(
                "port-range",
                f"srun's ports {first} to {last} hold {port}, where {service} listens",
                "take a range that no service uses, such as [60001, 63000]",
                (_PORTS, *side),
            )
