"""A firewall that would shut out the very ssh by which we came is refused before it is made. Pure."""

from __future__ import annotations

from dataclasses import replace

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.render.firewall_table import lets_in
from clusterwright.provision.report import HostReport

_RULES = ("file:/etc/clusterwright/firewall.nft", "file:/etc/firewalld/")


def way_back(cluster: Cluster, seen: HostReport) -> HostReport:
    """The same report, refused where new rules would not let the same ssh in again."""
    closing = any(change.id.startswith(_RULES) for change in seen.changes)
    if not closing or seen.error:
        return seen
    host = cluster.host(seen.host)
    error = _address(host, seen) or _port(cluster, seen) or _source(cluster, host, seen)
    return replace(seen, error=error, blame="host") if error else seen


def _address(host: Host, seen: HostReport) -> str:
    ours = {str(address) for address in host.addresses.values()}
    if seen.reached_at in ("", str(host.management)):
        return ""
    kind = (
        "another address of the host" if seen.reached_at in ours else "an address that the file does not name"
    )
    return (
        f"ssh came in at {seen.reached_at}, {kind}; the firewall leaves SSH open on {host.management} only. "
        "Reach the host by that address (HostName in ssh_config), or set security.firewall to false"
    )


def _port(cluster: Cluster, seen: HostReport) -> str:
    if seen.reached_port in ("", str(cluster.ssh.port)):
        return ""
    return (
        f"sshd listens on port {seen.reached_port} here, and the firewall leaves {cluster.ssh.port} open only. "
        f"Set ssh.port to {seen.reached_port}, or give sshd that port"
    )


def _source(cluster: Cluster, host: Host, seen: HostReport) -> str:
    if not seen.came_from or lets_in(cluster, host, seen.came_from, cluster.ssh.port):
        return ""
    nets = ", ".join(map(str, cluster.security.ssh_from))
    allowed = f"{nets} (security.ssh_from)" if nets else "anywhere but the compute and storage networks"
    return (
        f"ssh came from {seen.came_from}, and the firewall lets it in from {allowed} and the hosts of the cluster. "
        "Add that network to security.ssh_from, or come from one that is there"
    )
