"""Watch settings of hosts that an adopted cluster file describes and no role manages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.adopt.baseline import (
    Baseline,
    HostBaseline,
    baseline_differences,
    has_unread_rules,
    host_baseline,
    is_baseline_watched,
)
from clusterwright.adopt.folders import has_export, mounted_folders, storage_section
from clusterwright.adopt.host_files import held_packages, sysctl_of
from clusterwright.adopt.meaning import Difference
from clusterwright.adopt.recorded import RecordedHost
from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.names import fold
from clusterwright.config.storage import Nfs
from clusterwright.i18n import _

FIELD_TEXTS = ("sysctl", "mounts", "fstab", "exports", "holds", "passwd")  # of a host, compared with fields
BASELINE_TEXTS = ("limits", "units", "cluster_units", "firewall", "firewall_files", "firewalld")


def watches_hosts(cluster: Cluster) -> bool:
    """Return True if the cluster file describes settings of hosts that only the site changes."""
    return cluster.slurm.is_of_site and any(
        (
            cluster.system.sysctl and not cluster.manages("kernel"),
            cluster.system.hold_packages and not cluster.manages("package_hold"),
            _nfs_folders(cluster) and not cluster.manages("nfs_client"),
            cluster.unix_users() and not cluster.manages("accounts"),
        )
    )


def watched_texts(cluster: Cluster, baseline: Baseline | None) -> tuple[str, ...]:
    """Return the names of the hosts' texts that `wright diff` compares for this cluster; empty if it compares none."""
    fields = FIELD_TEXTS if watches_hosts(cluster) else ()
    return fields + (BASELINE_TEXTS if baseline and is_baseline_watched(cluster) else ())


def watched_hosts(
    cluster: Cluster, texts: Mapping[str, RecordedHost | None], baseline: Baseline | None = None
) -> list[str]:
    """Return the differences between the file, with its baseline, and its hosts, equal ones of several hosts once.

    The text of a host that did not answer is None; hosts without text are skipped.
    """
    baseline = baseline or {}
    hosts_by_line: dict[str, list[str]] = {}
    for host in cluster.hosts():
        if host.name not in texts:
            continue
        for line in _lines(cluster, host, texts[host.name], baseline.get(host.name)):
            hosts_by_line.setdefault(line, []).append(host.name)
    return [f"{fold(names)}: {line}" for line, names in hosts_by_line.items()]


def _lines(
    cluster: Cluster, host: Host, text: RecordedHost | None, baseline: HostBaseline | None
) -> Iterator[str]:
    if text is None:
        yield _("the host did not answer, so its settings are not compared")
        return
    if host.group.role == "compute" and not cluster.manages("kernel"):
        yield from map(str, _kernel(cluster, text))
    if not cluster.manages("package_hold"):
        held = held_packages(text)
        missing = (name for name in cluster.system.hold_packages if name not in held)
        yield from (str(Difference("system.hold_packages", name, "+", "")) for name in missing)
    if not cluster.manages("nfs_client"):
        yield from map(str, _folders(cluster, text))
    if not cluster.manages("accounts"):
        yield from map(str, _uids(cluster, text))
    if baseline is not None:
        current = host_baseline(text)
        yield from map(str, baseline_differences(cluster, baseline, current))
        if has_unread_rules(cluster, baseline, current):
            yield _("only root may read the rules of the firewall, so they are not compared")


def _kernel(cluster: Cluster, text: RecordedHost) -> Iterator[Difference]:
    actual = sysctl_of(text)
    for key, value in cluster.system.sysctl.items():
        if actual.get(key) != value:
            yield Difference("system.sysctl", key, value, actual.get(key, ""))


def _nfs_folders(cluster: Cluster) -> dict[str, Nfs]:
    return {name: folder for name, folder in cluster.storage.items() if isinstance(folder, Nfs)}


def _folders(cluster: Cluster, text: RecordedHost) -> Iterator[Difference]:
    """Yield the NFS folders of the cluster file that the host neither exports nor mounts as described."""
    hosts = frozenset(host.name for host in cluster.hosts())
    mounted = mounted_folders(text)
    for name, folder in _nfs_folders(cluster).items():
        export = folder.export or folder.path
        if has_export(text, export):
            continue
        actual = storage_section(mounted[folder.path], hosts) if folder.path in mounted else {}
        expected = {"server": folder.server, "export": export, "options": ",".join(folder.options)}
        observed = {
            "server": actual.get("server", ""),
            "export": actual.get("export", folder.path if actual else ""),
            "options": ",".join(actual.get("options", ())),
        }
        if not actual:
            yield Difference("storage", name, folder.path, "")
            continue
        for key, value in expected.items():
            if observed[key] != value:
                yield Difference(f"storage.{name}", key, value, observed[key])


def _uids(cluster: Cluster, text: RecordedHost) -> Iterator[Difference]:
    rows = (line.split(":") for line in text.passwd.splitlines())
    uids = {row[0]: row[2] for row in rows if len(row) > 2}
    for name, uid in cluster.unix_users().items():
        if uids.get(name) != str(uid):
            yield Difference(f"users.{name}", "uid", str(uid), uids.get(name, ""))
