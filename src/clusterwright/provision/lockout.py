"""Refuse an apply whose firewall would block the SSH connection that it uses."""

from __future__ import annotations

from dataclasses import replace

from clusterwright.config.cluster import Cluster, Host
from clusterwright.i18n import N_, _
from clusterwright.provision.render.firewall_table import lets_in
from clusterwright.provision.report import HostReport

_RULES = ("file:/etc/clusterwright/firewall.nft", "file:/etc/firewalld/")


def prevent_lockout(cluster: Cluster, host_report: HostReport) -> HostReport:
    """Return the report, with an error if the new firewall rules would block the current SSH connection."""
    closing = any(change.id.startswith(_RULES) for change in host_report.changes)
    if not closing or host_report.error:
        return host_report
    host = cluster.host(host_report.host)
    error = _address(host, host_report) or _port(cluster, host_report) or _source(cluster, host, host_report)
    return replace(host_report, error=error, fault_domain="host") if error else host_report


def _address(host: Host, host_report: HostReport) -> str:
    ours = {str(address) for address in host.addresses.values()}
    if host_report.reached_at in ("", str(host.management)):
        return ""
    text = (
        N_(
            "SSH reaches the host at {address}, another address of the host; the firewall would accept SSH at "
            "{management} only. Use that address (HostName in ssh_config), or set security.firewall to false"
        )
        if host_report.reached_at in ours
        else N_(
            "SSH reaches the host at {address}, which the cluster file does not list; the firewall would accept "
            "SSH at {management} only. Use that address (HostName in ssh_config), or set security.firewall to false"
        )
    )
    return _(text, address=host_report.reached_at, management=host.management)


def _port(cluster: Cluster, host_report: HostReport) -> str:
    if host_report.reached_port in ("", str(cluster.ssh.port)):
        return ""
    return _(
        "sshd listens on port {reached_port}, and the firewall would accept SSH on port {port} only. "
        "Set ssh.port to {reached_port}, or move sshd to port {port}",
        reached_port=host_report.reached_port,
        port=cluster.ssh.port,
    )


def _source(cluster: Cluster, host: Host, host_report: HostReport) -> str:
    if not host_report.ssh_source or lets_in(cluster, host, host_report.ssh_source, cluster.ssh.port):
        return ""
    nets = ", ".join(map(str, cluster.security.ssh_from))
    text = (
        N_(
            "SSH connects from {source}, and the firewall would accept SSH only from {networks} "
            "(security.ssh_from) and the cluster's hosts. Add that network to security.ssh_from, or connect from "
            "a listed one"
        )
        if nets
        else N_(
            "SSH connects from {source}, and the firewall would reject SSH from the compute and storage "
            "networks. Add that network to security.ssh_from, or connect from another one"
        )
    )
    return _(text, source=host_report.ssh_source, networks=nets)
