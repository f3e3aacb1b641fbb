"""The other ports are closed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want
from clusterwright.check.facts.listening import listening
from clusterwright.check.facts.ports import DISCARD, ports
from clusterwright.check.facts.trespass import trespass
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.render.firewall_table import lets_in, openings

_HEARD = ("open", "refused")  # either means that the firewall let it through


def _off(want: Want) -> str:
    return (
        "" if want.cluster.security.firewall else "the cluster file has the firewall off (security.firewall)"
    )


@check(
    (listening, ports, trespass),
    together=True,
    unless=_off,
    mend="`nft list ruleset` (or `firewall-cmd --list-all-zones`) on the host shows what was opened; "
    "apply the cluster file again",
)
def ports_closed(
    cluster: Cluster,
    heard: Mapping[str, tuple[int, ...]],
    tried: Mapping[str, dict[str, str]],
    found: Mapping[str, dict[str, str]],
) -> Iterator[Verdict]:
    """No port but the cluster's own answers the control host, nor does the control host's answer the others.

    Really tried: every port that a host listens on, and one on which nobody does. On the control host itself
    only the latter is tried.
    """
    ((_, states),) = found.items()
    for host in cluster.hosts():
        if host.name == cluster.control.name:
            target = f"{host.management}:{DISCARD}"
            open_ = [DISCARD] if any(each.get(target) in _HEARD for each in tried.values()) else []
        else:
            open_ = [
                port for port in (DISCARD, *heard.get(host.name, ())) if _let_in(cluster, host, port, states)
            ]
        if host.name in heard:
            saw = f"port {', '.join(map(str, open_))} let in" if open_ else "no other port let in"
            yield expect(
                not open_, saw=saw, want=f"only {_own(cluster, host)} (security.firewall)", subject=host.name
            )


def _let_in(cluster: Cluster, host: Host, port: int, states: dict[str, str]) -> bool:
    """True when the port answered the control host, and the file gives it no reason to."""
    heard = states.get(f"{host.management}:{port}") in _HEARD
    return heard and not lets_in(cluster, host, str(cluster.control.management), port)


def _own(cluster: Cluster, host: Host) -> str:
    """What the host serves the control host, by port."""
    rows = [row for row in openings(cluster, host) if row.protocol == "tcp" and row.network == "management"]
    ports = [row.ports for row in rows if not row.peers.ranges or row.peers.hold(cluster.control.management)]
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in sorted(set(ports)))
