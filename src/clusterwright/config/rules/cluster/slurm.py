"""Slurm's release, ports and further options."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.config.clash import Clash, members
from clusterwright.config.cluster import Cluster
from clusterwright.config.slurm_keys import OURS, RELEASES, lint, release
from clusterwright.config.source import Loc

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
    first_port, last = cluster.slurm.ports
    if first_port > last:
        yield Clash(
            "port-range",
            f"srun's ports run from {first_port} down to {last}",
            f"write [{last}, {first_port}]",
            (_PORTS,),
        )
    for port, service in {**USED, cluster.ssh.port: "sshd"}.items():
        if first_port <= port <= last:
            side = (("ssh", "port"),) if service == "sshd" else ()
            yield Clash(
                "port-range",
                f"srun's ports {first_port} to {last} hold {port}, where {service} listens",
                "take a range that no service uses, such as [60001, 63000]",
                (_PORTS, *side),
            )
    yield from _too_few(cluster, last - first_port + 1)


def _too_few(cluster: Cluster, ports: int) -> Iterator[Clash]:
    """slurm.conf(5), SrunPortRange: an srun opens 4 ports, and 2 more for every 48 hosts beyond the first 48."""
    hosts = len(members(cluster, "compute"))
    needs = 4 + 2 * max(0, -(-hosts // 48) - 1)
    if 0 < ports < needs:
        first_port = cluster.slurm.ports[0]
        yield Clash(
            "port-range",
            f"srun has {ports} ports, but one over all {hosts} hosts opens {needs}",
            f"write at least [{first_port}, {first_port + needs - 1}]; some thousand serve many jobs at once",
            (_PORTS, ("nodes",)),
        )


def slurm_exists(cluster: Cluster) -> Iterator[Clash]:
    """What is written for a release that never was would be a guess; newer ones than we know are let pass."""
    slurm_version = release(cluster.software.slurm)
    if slurm_version not in RELEASES and RELEASES[0] < slurm_version < RELEASES[-1]:
        yield Clash(
            "slurm-release",
            f"there was no Slurm {slurm_version}; the releases are {', '.join(RELEASES[3:])}",
            "write what `slurmd -V` says on a host, such as 22.05",
            (("software", "slurm"),),
        )


_OPTIONS = ("slurm", "options")
_VERSION = ("software", "slurm")


def slurm_options(cluster: Cluster) -> Iterator[Clash]:
    """A key that the file decides elsewhere, and one that this Slurm would die of or complain about."""
    slurm_version = min(release(cluster.software.slurm), RELEASES[-1])
    for key, value in cluster.slurm.options.items():
        loc = (*_OPTIONS, key)
        field = OURS.get(key.lower())
        if field is not None:
            yield _ours(key, field, loc)
            continue
        for finding in lint(f"{key}={value}", "slurm.conf", slurm_version):
            yield Clash(
                "slurm-key",
                f"{finding.key}: {finding.message}",
                "write it as the slurm.conf(5) of that release does, or leave it out",
                (loc, _VERSION),
            )


def _ours(key: str, field: str, loc: tuple[str, ...]) -> Clash:
    if field:
        return Clash(
            "slurm-key-ours",
            f"{key} is written by us, from {field}",
            f"set {field}, and leave this out",
            (loc,),
        )
    message = f"{key} is written by us: units, firewall, logs and folders rest on it"
    return Clash("slurm-key-ours", message, "leave it out", (loc,))


_PACKAGE_LOCS = (("software", "slurm"), ("os",))
_OLDEST = "21.08"  # the oldest release that we render for


def slurm_packages(cluster: Cluster) -> Iterator[Clash]:
    """The distribution's own Slurm, or one that Slurm's own packaging makes and a repository of the site's holds."""
    os, platform, version = cluster.os, cluster.platform, cluster.software.slurm
    is_available = platform.has_slurm(version) and release(version) >= _OLDEST
    if cluster.lab is not None or is_available:  # a lab has a rule of its own
        return
    distro_version, min_version = platform.slurm, platform.schedmd_slurm_since
    has = f"{os} itself has Slurm {distro_version}" + (" (in EPEL)" if platform.uses_epel else "")
    distro_hint = f'set `slurm: "{distro_version}"`' if distro_version >= _OLDEST else ""
    if release(version) < _OLDEST:
        fix = 'set `slurm: "25.11"` and name the repository of its packages under `software.repositories`'
        yield Clash(
            "slurm-no-package",
            f"Slurm {version} is older than {_OLDEST}, the oldest that we can set up",
            fix,
            _PACKAGE_LOCS,
        )
    elif release(version) < min_version and cluster.software.slurm_packages != "distribution":
        newer = f'set `slurm: "{min_version}"` or later, which Slurm\'s own packaging makes'
        fix = f"{distro_hint}, or {newer}" if distro_hint and distro_version != min_version else newer
        yield Clash(
            "slurm-no-package",
            f"there are no packages of Slurm {version} for {os}: {has}, and "
            f"Slurm's own deb packages begin with {min_version}",
            fix,
            _PACKAGE_LOCS,
        )
    elif not cluster.software.repositories:
        name = "name the repository of the packages under `software.repositories`"
        fix = f"{name}, or {distro_hint}" if distro_hint else name
        yield Clash(
            "slurm-no-package",
            f"nothing says where the packages of Slurm {version} for {os} come from; {has}",
            fix,
            _PACKAGE_LOCS,
        )


# Slurm's release notes: topology/block came with 23.11, cgroup/v2 with 22.05.
_BLOCK, _CGROUP2 = (23, 11), (22, 5)


def slurm_release(cluster: Cluster) -> Iterator[Clash]:
    """Block topology and control groups v2 have the release that brought them, v1 a system that has it."""
    version, slurm = cluster.software.slurm, cluster.slurm
    if slurm.topology == "block" and _older(version, _BLOCK):
        yield _too_old(version, "topology: block", "23.11", ("slurm", "topology"), "take the line out")
    if slurm.cgroup == "v2" and _older(version, _CGROUP2):
        yield _too_old(version, "cgroup: v2", "22.05", ("slurm", "cgroup"), "write v1")
    if slurm.cgroup == "auto" and _older(version, _CGROUP2) and cluster.platform.default_cgroup == "v2":
        yield Clash(
            "slurm-needs-cgroup-v1",
            f"{cluster.os} starts on control groups v2, and Slurm {version} knows version 1 only",
            "set slurm.cgroup to v1, and boot compute hosts with systemd.unified_cgroup_hierarchy=0; "
            "or set software.slurm to 22.05 or later",
            (("os",), ("software", "slurm")),
        )
    if slurm.cgroup == "v1" and not cluster.platform.has_cgroup_v1:
        yield Clash(
            "no-cgroup-v1",
            f"{cluster.os} no longer starts with control groups of version 1",
            "set slurm.cgroup to v2 or auto",
            (("slurm", "cgroup"), ("os",)),
        )


def _older(version: str, than: tuple[int, int]) -> bool:
    match = re.match(r"(\d+)\.(\d+)", version)
    return match is not None and (int(match[1]), int(match[2])) < than


def _too_old(version: str, feature: str, min_version: str, loc: Loc, fix: str) -> Clash:
    return Clash(
        "slurm-too-old",
        f"Slurm {version} does not know `{feature}`, which came with {min_version}",
        f"{fix}, or set software.slurm to {min_version} or later",
        (loc, ("software", "slurm")),
    )
