"""Leaf switches and their uplinks carry the hosts' traffic without errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.addresses import Interface, addresses
from clusterwright.check.facts.link_counters import GrownCounter, link_counters
from clusterwright.check.links import Broken, broken
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import N_, _

_SEVERAL = 3  # hosts, ours: two bad cables at a time happen, three on most of one switch do not
_EXPECTED = N_("no error counter grows on most hosts of one leaf switch (networks.compute, nodes.*.switch)")
# Counters of loss or congestion beyond the host's own cable: on the switch or its uplinks.
_BEYOND = ("port_xmit_discards", "roce_slow_restart", "local_ack_timeout_err", "rnr_nak_retry_err")


def _has_switch(spec: HostSpec) -> bool:
    return spec.is_compute and bool(spec.host.group.switch)


@check(
    (link_counters, addresses),
    when=_has_switch,
    cluster_wide=True,
    fix="check the switch instead of each cable: power, fans, log, and recent reboots",
)
def leaf_switches(
    cluster: Cluster, counters: Mapping[str, GrownCounter], interfaces: Mapping[str, dict[str, Interface]]
) -> Iterator[Verdict]:
    """No link error counter grows on most hosts, at least three, of one leaf switch; the verdict names the switch.

    link_errors also reports each of the hosts.
    """
    hosts_by_leaf = _hosts_by_leaf(cluster, [host for host in counters if host in interfaces])
    verdicts: list[Verdict] = []
    for leaf, hosts in hosts_by_leaf.items():
        of_hosts = {host: list(_broken(cluster, host, counters, interfaces)) for host in hosts}
        names = sorted(
            {broken_link.rule.counter for broken_links in of_hosts.values() for broken_link in broken_links}
        )
        for name in names:
            verdicts += _verdicts(leaf, name, of_hosts)
    well = (
        fine(observed=leaf, expected=_(_EXPECTED), subject=host)
        for leaf, hosts in hosts_by_leaf.items()
        for host in hosts
    )
    yield from verdicts or well


def _hosts_by_leaf(cluster: Cluster, names: list[str]) -> dict[str, list[str]]:
    hosts_by_leaf: dict[str, list[str]] = {}
    for host in cluster.hosts("compute"):
        if host.name in names and host.group.switch:
            hosts_by_leaf.setdefault(host.group.switch, []).append(host.name)
    return hosts_by_leaf


def _broken(
    cluster: Cluster,
    host: str,
    counters: Mapping[str, GrownCounter],
    interfaces: Mapping[str, dict[str, Interface]],
) -> Iterator[Broken]:
    spec = HostSpec(cluster.on(cluster.host(host)), cluster.host(host))
    return (
        broken_link
        for broken_link in broken(spec, counters[host], interfaces[host])
        if broken_link.network == "compute"
    )


def _verdicts(leaf: str, counter: str, of_hosts: Mapping[str, list[Broken]]) -> Iterator[Verdict]:
    affected = [
        host
        for host, broken_links in of_hosts.items()
        if any(broken_link.rule.counter == counter for broken_link in broken_links)
    ]
    if len(affected) < _SEVERAL or 2 * len(affected) <= len(of_hosts):
        return
    rule = next(
        broken_link.rule for broken_link in of_hosts[affected[0]] if broken_link.rule.counter == counter
    )
    beyond = counter in _BEYOND
    yield fault(
        observed=_(
            "the error counter {counter} grew on {count} of {total} hosts: {meaning}",
            counter=counter,
            count=len(affected),
            total=len(of_hosts),
            meaning=_(rule.meaning),
        ),
        expected=_(_EXPECTED),
        part=f"uplinks of switch {leaf}" if beyond else f"switch {leaf}",
        otherwise=rule.status,
        fix=_("check the uplinks of switch {leaf}: how many are up, their errors, PFC and ECN", leaf=leaf)
        if beyond
        else "",
    )
