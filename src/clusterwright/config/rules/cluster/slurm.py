"""Slurm's release, ports and further options."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.clash import Clash, members
from clusterwright.config.cluster import Cluster
from clusterwright.config.slurm_keys import OURS, RELEASES, lint, release

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


def slurm_known(cluster: Cluster) -> Iterator[Clash]:
    """What is written for a release that never was would be a guess; newer ones than we know are let pass."""
    of = release(cluster.software.slurm)
    if of not in RELEASES and RELEASES[0] < of < RELEASES[-1]:
        yield Clash(
            "slurm-release",
            f"there was no Slurm {of}; the releases are {', '.join(RELEASES[3:])}",
            "write what `slurmd -V` says on a host, such as 22.05",
            (("software", "slurm"),),
        )


_OPTIONS = ("slurm", "options")
_VERSION = ("software", "slurm")


def slurm_options(cluster: Cluster) -> Iterator[Clash]:
    """A key that the file decides elsewhere, and one that this Slurm would die of or complain about."""
    of = min(release(cluster.software.slurm), RELEASES[-1])
    for key, value in cluster.slurm.options.items():
        at = (*_OPTIONS, key)
        field = OURS.get(key.lower())
        if field is not None:
            yield _ours(key, field, at)
            continue
        for finding in lint(f"{key}={value}", "slurm.conf", of):
            yield Clash(
                "slurm-key",
                f"{finding.key}: {finding.what}",
                "write it as the slurm.conf(5) of that release does, or leave it out",
                (at, _VERSION),
            )


def _ours(key: str, field: str, at: tuple[str, ...]) -> Clash:
    if field:
        return Clash(
            "slurm-key-ours",
            f"{key} is written by us, from {field}",
            f"set {field}, and leave this out",
            (at,),
        )
    what = f"{key} is written by us: units, firewall, logs and folders rest on it"
    return Clash("slurm-key-ours", what, "leave it out", (at,))
