"""The other ports are closed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.listening import listening
from clusterwright.check.facts.ports import DISCARD, ports
from clusterwright.check.facts.trespass import trespass
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster, Host
from clusterwright.i18n import _
from clusterwright.provision.render.firewall_table import lets_in, openings

_REACHABLE = ("open", "refused")  # either means that the firewall let it through


def _off(spec: HostSpec) -> str:
    return (
        ""
        if spec.cluster.security.firewall
        else _("the cluster file has the firewall off (security.firewall)")
    )


@check(
    (listening, ports, trespass),
    cluster_wide=True,
    unless=_off,
    fix="`nft list ruleset` (or `firewall-cmd --list-all-zones`) on the host shows what was opened; "
    "apply the cluster file again",
)
def ports_closed(
    cluster: Cluster,
    listening_ports: Mapping[str, tuple[int, ...]],
    host_probes: Mapping[str, dict[str, str]],
    control_probes: Mapping[str, dict[str, str]],
) -> Iterator[Verdict]:
    """No port but the cluster's own answers the control host, nor does the control host's answer the others.

    Really tried: every port that a host listens on, and one on which nobody does. On the control host itself
    only the latter is tried.
    """
    ((_ignored, states),) = control_probes.items()
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
                _("port {str} let in", str=", ".join(map(str, open_))) if open_ else _("no other port let in")
            )
            yield expect(
                not open_,
                observed=observed,
                expected=_(
                    "only {allowed_ports} (security.firewall)", allowed_ports=_allowed_ports(cluster, host)
                ),
                subject=host.name,
            )


def _let_in(cluster: Cluster, host: Host, port: int, states: dict[str, str]) -> bool:
    """True when the port answered the control host, and the file gives it no reason to."""
    is_reachable = states.get(f"{host.management}:{port}") in _REACHABLE
    return is_reachable and not lets_in(cluster, host, str(cluster.control.management), port)


def _allowed_ports(cluster: Cluster, host: Host) -> str:
    """What the host serves the control host, by port."""
    rows = [row for row in openings(cluster, host) if row.protocol == "tcp" and row.network == "management"]
    ports = [
        row.ports for row in rows if not row.peers.ranges or row.peers.contains(cluster.control.management)
    ]
    return ", ".join(
        f"{first_port}" if first_port == last else f"{first_port}-{last}"
        for first_port, last in sorted(set(ports))
    )
