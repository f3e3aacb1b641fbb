"""Rules about Slurm: release, packages, ports, options."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.config.clash import Clash, members
from clusterwright.config.cluster import Cluster
from clusterwright.config.slurm_keys import OURS, RELEASES, release
from clusterwright.config.source import Loc
from clusterwright.i18n import N_, _
from clusterwright.onhost.lib.ports import RUN_PORTS

# Default ports of Slurm's daemons (slurm.conf(5)), node_exporter, Prometheus, Alertmanager and our programs.
USED = {
    6817: "slurmctld",
    6818: "slurmd",
    6819: "slurmdbd",
    9090: "Prometheus",
    9093: "Alertmanager",
    9098: N_("our sender of chat notifications"),
    9100: "node_exporter",
    9105: N_("our exporter"),
}
_PORTS = ("slurm", "ports")


def slurm(cluster: Cluster) -> Iterator[Clash]:
    """Check that the port range of srun is ascending, large enough, and without ports of services and runs."""
    first_port, last = cluster.slurm.ports
    values = {"first": first_port, "last": last}
    if first_port > last:
        message, fix = (
            _("slurm.ports is descending, [{first}, {last}]", **values),
            _("write [{last}, {first}]", **values),
        )
        yield Clash("port-range", message, fix, (_PORTS,))
    fix = _("choose a range that no service uses, such as [60001, 63000]")
    for port, service in {**USED, cluster.ssh.port: "sshd"}.items():
        if first_port <= port <= last:
            side = (("ssh", "port"),) if service == "sshd" else ()
            message = _(
                "slurm.ports [{first}, {last}] contains {port}, the port of {service}",
                port=port,
                service=_(service),
                **values,
            )
            yield Clash("port-range", message, fix, (_PORTS, *side))
    first_of_runs, last_of_runs = RUN_PORTS
    if first_port <= last_of_runs and first_of_runs <= last:
        # Rendezvous stores have no authentication: rules by user id protect them, and leave out the ports of srun.
        message = _(
            "slurm.ports [{first}, {last}] meets the ports of runs, {first_of_runs} to {last_of_runs}: users could"
            " connect to the runs of others",
            first_of_runs=first_of_runs,
            last_of_runs=last_of_runs,
            **values,
        )
        yield Clash("port-range", message, fix, (_PORTS,))
    yield from _too_few_ports(cluster, last - first_port + 1)


def _too_few_ports(cluster: Cluster, ports: int) -> Iterator[Clash]:
    """Yield a clash if slurm.ports has too few ports for an srun on all hosts.

    slurm.conf(5), SrunPortRange: an srun opens 4 ports, and 2 more for every 48 hosts beyond the first 48.
    """
    hosts = len(members(cluster, "compute"))
    needs = 4 + 2 * max(0, -(-hosts // 48) - 1)
    if 0 < ports < needs:
        first_port = cluster.slurm.ports[0]
        message = _(
            "slurm.ports has {ports} ports, but one srun on all {hosts} hosts needs {needed}",
            ports=ports,
            hosts=hosts,
            needed=needs,
        )
        fix = _(
            "write at least [{first}, {last}]; a few thousand ports serve many jobs at once",
            first=first_port,
            last=first_port + needs - 1,
        )
        yield Clash("port-range", message, fix, (_PORTS, ("nodes",)))


def slurm_exists(cluster: Cluster) -> Iterator[Clash]:
    """Check that the Slurm release exists; releases older or newer than all of the table are accepted."""
    slurm_version = release(cluster.software.slurm)
    if slurm_version not in RELEASES and RELEASES[0] < slurm_version < RELEASES[-1]:
        message = _("Slurm has no release {release}", release=slurm_version)
        fix = _(
            "write the version of `slurmd -V`; the releases are {releases}", releases=", ".join(RELEASES[3:])
        )
        yield Clash("slurm-release", message, fix, (("software", "slurm"),))


_OPTIONS = ("slurm", "options")
_LINES = ("NodeName", "PartitionName", "NodeSet", "DownNodes", "Include")  # lines of their own
_VERSION = ("software", "slurm")


def slurm_options(cluster: Cluster) -> Iterator[Clash]:
    """Check that additional slurm.conf keys are not set by other fields, and the Slurm release supports them.

    A site's own slurm.conf may set most of ours, and keys without effect.
    """
    slurm_version = min(release(cluster.software.slurm), RELEASES[-1])
    for key, value in cluster.slurm.options.items():
        loc = (*_OPTIONS, key)
        field = OURS.get(key.lower())
        if field is not None and not (cluster.slurm.is_of_site and key not in _LINES):
            yield _ours(key, field, loc)
            continue
        yield from _key(f"{key}={value}", loc, slurm_version, only_fatal=cluster.slurm.is_of_site)


def slurm_files(cluster: Cluster) -> Iterator[Clash]:
    """Check that `slurm.files` is set only for a site's own files; else the fields of the cluster file render them."""
    for name in () if cluster.slurm.is_of_site else cluster.slurm.files:
        message = _("{file} is rendered from the fields of the cluster file", file=name)
        fix = _("remove the file from slurm.files, or set slurm.defaults to slurm for a site's own files")
        yield Clash("slurm-key", message, fix, (("slurm", "files", name), ("slurm", "defaults")))


def line_options(cluster: Cluster) -> Iterator[Clash]:
    """Check that additional keys of nodes and partitions exist in the Slurm release, and are one value each."""
    slurm_version = min(release(cluster.software.slurm), RELEASES[-1])
    for section, start in (("nodes", "NodeName"), ("partitions", "PartitionName")):
        for name, entry in getattr(cluster, section).items():
            for key, value in entry.options.items():
                loc = (section, name, "options", key)
                yield from _line_option(start, key, value, loc, slurm_version)


def _line_option(start: str, key: str, value: str, loc: Loc, slurm_version: str) -> Iterator[Clash]:
    if key.lower() in (start.lower(), "nodes") or '"' in value:
        yield Clash(
            "slurm-key",
            _("`options` cannot set the key {key}, and its values cannot have double quotes", key=key),
            _("remove this key"),
            (loc,),
        )
        return
    yield from _key(f'{start}=x {key}="{value}"', loc, slurm_version, only_fatal=True)


def _key(line: str, loc: Loc, slurm_version: str, *, only_fatal: bool) -> Iterator[Clash]:
    """Yield a clash for the key, and each word of the value, of a slurm.conf line that the release lacks or ignores.

    `only_fatal`: not for what it ignores, as it starts nevertheless.
    """
    from clusterwright.config.slurm_keys.lint import lint

    fix = _("write the line as in slurm.conf(5) of that Slurm release, or remove the line")
    for finding in lint(line, "slurm.conf", slurm_version):
        if finding.fatal or not only_fatal:
            yield Clash("slurm-key", f"{finding.key}: {finding.message}", fix, (loc, _VERSION))


def _ours(key: str, field: str, loc: tuple[str, ...]) -> Clash:
    if field:
        message = _("{key} is set by another field, {field}", key=key, field=field)
        return Clash("slurm-key-ours", message, _("set {field}, and remove this line", field=field), (loc,))
    message = _("{key} cannot be changed: units, firewall, logs and folders depend on it", key=key)
    return Clash("slurm-key-ours", message, _("remove this key"), (loc,))


_OLDEST = "21.08"  # the oldest release that we render for


def slurm_packages(cluster: Cluster) -> Iterator[Clash]:
    """Check that the Slurm version has packages: the distribution's, or SchedMD's in a repository of the site."""
    for on_system, loc in cluster.systems():
        yield from _packages(on_system, (("software", "slurm"), loc))


def _packages(cluster: Cluster, locs: tuple[tuple[str, ...], ...]) -> Iterator[Clash]:
    os, platform, version = cluster.os, cluster.platform, cluster.software.slurm
    is_available = platform.has_slurm(version) and release(version) >= _OLDEST
    if cluster.lab is not None or is_available or not cluster.manages("slurm"):  # a lab has its own rule
        return
    distro, oldest_deb = platform.slurm, platform.schedmd_slurm_since
    values = {"version": version, "os": os, "distro": f"{distro} (EPEL)" if platform.uses_epel else distro}
    if release(version) < _OLDEST:
        message = _(
            "Slurm {version} is not supported; the oldest is {oldest}", version=version, oldest=_OLDEST
        )
        fix = _(
            'set `slurm: "25.11"` and add a repository with packages of Slurm 25.11 to `software.repositories`'
        )
    elif release(version) < oldest_deb and cluster.software.slurm_packages != "distribution":
        message = _(
            "Slurm {version} has no packages for {os}: the distribution has {distro}, and SchedMD's deb packages start "
            "with {oldest}",
            oldest=oldest_deb,
            **values,
        )
        if distro >= _OLDEST and distro != oldest_deb:
            fix = _('set `slurm: "{distro}"`, or "{oldest}" or later', distro=distro, oldest=oldest_deb)
        else:
            fix = _('set `slurm: "{oldest}"` or later', oldest=oldest_deb)
    elif not any(repository.is_for(platform) for repository in cluster.software.repositories.values()):
        message = _("Slurm {version} has no repository for {os}, which itself has {distro}", **values)
        if distro >= _OLDEST:
            fix = _(
                "add a repository with packages of this Slurm version to `software.repositories`, or set "
                '`slurm: "{distro}"`',
                distro=distro,
            )
        else:
            fix = _("add a repository with packages of this Slurm version to `software.repositories`")
    else:
        return
    yield Clash("slurm-no-package", message, fix, locs)


# Slurm's release notes: topology/block is new in 23.11, cgroup/v2 in 22.05.
_BLOCK, _CGROUP2 = (23, 11), (22, 5)


def slurm_release(cluster: Cluster) -> Iterator[Clash]:
    """Check that Slurm's release has block topology and cgroup v2, and the system cgroup v1, if they are set.

    Nothing if the cluster file does not manage Slurm.
    """
    version, slurm = cluster.software.slurm, cluster.slurm
    if not cluster.manages("slurm"):
        return
    if slurm.topology == "block" and _older(version, _BLOCK):
        fix = _("remove the line, or set software.slurm to {release} or later", release="23.11")
        yield _too_old(version, "topology: block", "23.11", ("slurm", "topology"), fix)
    if slurm.cgroup == "v2" and _older(version, _CGROUP2):
        fix = _("write v1, or set software.slurm to {release} or later", release="22.05")
        yield _too_old(version, "cgroup: v2", "22.05", ("slurm", "cgroup"), fix)
    for on_system, loc in cluster.systems():
        yield from _cgroup(on_system, loc)


def _cgroup(cluster: Cluster, loc: tuple[str, ...]) -> Iterator[Clash]:
    version, slurm = cluster.software.slurm, cluster.slurm
    if slurm.cgroup == "auto" and _older(version, _CGROUP2) and cluster.platform.default_cgroup == "v2":
        message = _(
            "{os} boots with cgroup v2, but Slurm {version} supports v1 only", os=cluster.os, version=version
        )
        fix = _(
            "set slurm.cgroup to v1, and boot compute hosts with systemd.unified_cgroup_hierarchy=0; or set "
            "software.slurm to 22.05 or later"
        )
        yield Clash("slurm-needs-cgroup-v1", message, fix, (loc, ("software", "slurm")))
    if slurm.cgroup == "v1" and not cluster.platform.has_cgroup_v1:
        message = _("{os} does not support cgroup v1", os=cluster.os)
        yield Clash("no-cgroup-v1", message, _("set slurm.cgroup to v2 or auto"), (("slurm", "cgroup"), loc))


def _older(version: str, than: tuple[int, int]) -> bool:
    match = re.match(r"(\d+)\.(\d+)", version)
    return match is not None and (int(match[1]), int(match[2])) < than


def _too_old(version: str, feature: str, min_version: str, loc: Loc, fix: str) -> Clash:
    values = {"version": version, "feature": feature, "oldest": min_version}
    message = _("Slurm {version} does not support `{feature}`, which is new in {oldest}", **values)
    return Clash("slurm-too-old", message, fix, (loc, ("software", "slurm")))
