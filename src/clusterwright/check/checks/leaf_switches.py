"""The leaf switches and what joins them carry their hosts' traffic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import Want
from clusterwright.check.facts.addresses import Interface, addresses
from clusterwright.check.facts.link_counters import Grown, link_counters
from clusterwright.check.links import Broken, broken
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster

_SEVERAL = 3  # hosts, ours: two bad cables at a time are met, three on one switch and on most of it are not
_WANT = "no error counter that grows on most hosts of one switch (networks.compute, nodes.*.switch)"
# What is lost or held back beyond the host's own cable: on the switch, or between it and the others.
_BEYOND = ("port_xmit_discards", "roce_slow_restart", "local_ack_timeout_err", "rnr_nak_retry_err")


def _has_switch(want: Want) -> bool:
    return want.is_compute and bool(want.host.group.switch)


@check(
    (link_counters, addresses),
    when=_has_switch,
    together=True,
    mend="the switch, not each cable: its power, its fans, its log, and whether it was booted",
)
def leaf_switches(
    cluster: Cluster, counters: Mapping[str, Grown], interfaces: Mapping[str, dict[str, Interface]]
) -> Iterator[Verdict]:
    """What goes wrong on most hosts of one leaf switch at a time is told once, of the switch or its uplinks."""
    leaves = _leaves(cluster, [host for host in counters if host in interfaces])
    found: list[Verdict] = []
    for leaf, hosts in leaves.items():
        of_hosts = {host: list(_broken(cluster, host, counters, interfaces)) for host in hosts}
        names = sorted({each.rule.counter for broken_ones in of_hosts.values() for each in broken_ones})
        for name in names:
            found += _told(leaf, name, of_hosts)
    well = (fine(saw=leaf, want=_WANT, subject=host) for leaf, hosts in leaves.items() for host in hosts)
    yield from found or well


def _leaves(cluster: Cluster, seen: list[str]) -> dict[str, list[str]]:
    leaves: dict[str, list[str]] = {}
    for host in cluster.hosts("compute"):
        if host.name in seen and host.group.switch:
            leaves.setdefault(host.group.switch, []).append(host.name)
    return leaves


def _broken(
    cluster: Cluster,
    host: str,
    counters: Mapping[str, Grown],
    interfaces: Mapping[str, dict[str, Interface]],
) -> Iterator[Broken]:
    want = Want(cluster, cluster.host(host))
    return (each for each in broken(want, counters[host], interfaces[host]) if each.network == "compute")


def _told(leaf: str, counter: str, of_hosts: Mapping[str, list[Broken]]) -> Iterator[Verdict]:
    struck = [host for host, found in of_hosts.items() if any(each.rule.counter == counter for each in found)]
    if len(struck) < _SEVERAL or 2 * len(struck) <= len(of_hosts):
        return
    rule = next(each.rule for each in of_hosts[struck[0]] if each.rule.counter == counter)
    beyond = counter in _BEYOND
    yield fault(
        saw=f"{counter} grew on {len(struck)} of {len(of_hosts)} hosts: {rule.means}",
        want=_WANT,
        part=f"{'uplinks of ' if beyond else ''}switch {leaf}",
        otherwise=rule.status,
        mend=f"see the uplinks of {leaf}: how many are up, their errors, PFC and ECN" if beyond else "",
    )
