"""The firewall blocks all ports that the cluster does not need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.check.expectation import check, expect, unmanaged
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.listening import listening
from clusterwright.check.facts.ports import DISCARD, ports
from clusterwright.check.facts.trespass import trespass
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster, Host
from clusterwright.i18n import _
from clusterwright.provision.render.firewall_table import lets_in, openings

_REACHABLE = ("open", "refused")  # either means that the firewall passed the packet


def _off(spec: HostSpec) -> str:
    return "" if spec.cluster.security.firewall else _("security.firewall is off in the cluster file")


@check(
    (listening, ports, trespass),
    cluster_wide=True,
    unless=unmanaged("packet_filter", "firewalld", otherwise=_off),
    fix="run `nft list ruleset` (or `firewall-cmd --list-all-zones`) on the host to find the rule that opens the port, "
    "then run `wright apply`",
)
def ports_closed(
    cluster: Cluster,
    listening_ports: Mapping[str, tuple[int, ...]],
    host_probes: Mapping[str, dict[str, str]],
    control_probes: Mapping[str, dict[str, str]],
) -> Iterator[Verdict]:
    """Hosts accept connections from the control host only on the cluster's ports; the control host blocks unused ports.

    Tested by TCP connections: to every listening port of a host, and to one without a listener. On the control host
    only the latter is tested.
    """
    (states,) = control_probes.values()
    for host in cluster.hosts():
        if host.name == cluster.control.name:
            target = f"{host.management}:{DISCARD}"
            open_ = (
                [DISCARD]
                if any(results.get(target) in _REACHABLE for results in host_probes.values())
                else []
            )
        else:
            open_ = [
                port
                for port in (DISCARD, *listening_ports.get(host.name, ()))
                if _let_in(cluster, host, port, states)
            ]
        if host.name in listening_ports:
            observed = (
                _("open ports: {ports}", ports=", ".join(map(str, open_)))
                if open_
                else _("no open port besides those of the cluster's services")
            )
            yield expect(
                not open_,
                observed=observed,
                expected=_(
                    "only these ports open: {ports} (security.firewall)", ports=_allowed_ports(cluster, host)
                ),
                subject=host.name,
            )


def _let_in(cluster: Cluster, host: Host, port: int, states: dict[str, str]) -> bool:
    """True if the port answered the control host although the cluster file does not open it."""
    is_reachable = states.get(f"{host.management}:{port}") in _REACHABLE
    return is_reachable and not lets_in(cluster, host, str(cluster.control.management), port)


def _allowed_ports(cluster: Cluster, host: Host) -> str:
    """Return the ports that the firewall opens for the control host, as text."""
    rows = [row for row in openings(cluster, host) if row.protocol == "tcp" and row.network == "management"]
    ports = [
        row.ports for row in rows if not row.peers.ranges or row.peers.contains(cluster.control.management)
    ]
    return ", ".join(
        f"{first_port}" if first_port == last else f"{first_port}-{last}"
        for first_port, last in sorted(set(ports))
    )
