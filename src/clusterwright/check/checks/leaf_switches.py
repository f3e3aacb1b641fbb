"""The leaf switches and what joins them carry their hosts' traffic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.addresses import Interface, addresses
from clusterwright.check.facts.link_counters import Grown, link_counters
from clusterwright.check.links import Broken, broken
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import N_, _

_SEVERAL = 3  # hosts, ours: two bad cables at a time are met, three on one switch and on most of it are not
_EXPECTED = N_("no error counter that grows on most hosts of one switch (networks.compute, nodes.*.switch)")
# What is lost or held back beyond the host's own cable: on the switch, or between it and the others.
_BEYOND = ("port_xmit_discards", "roce_slow_restart", "local_ack_timeout_err", "rnr_nak_retry_err")


def _has_switch(spec: HostSpec) -> bool:
    return spec.is_compute and bool(spec.host.group.switch)


@check(
    (link_counters, addresses),
    when=_has_switch,
    cluster_wide=True,
    fix="the switch, not each cable: its power, its fans, its log, and whether it was booted",
)
def leaf_switches(
    cluster: Cluster, counters: Mapping[str, Grown], interfaces: Mapping[str, dict[str, Interface]]
) -> Iterator[Verdict]:
    """What goes wrong on most hosts of one leaf switch at a time is told once, of the switch or its uplinks."""
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
        fine(observed=leaf, expected=_EXPECTED, subject=host)
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
    counters: Mapping[str, Grown],
    interfaces: Mapping[str, dict[str, Interface]],
) -> Iterator[Broken]:
    spec = HostSpec(cluster, cluster.host(host))
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
            "{counter} grew on {count} of {count2} hosts: {meaning}",
            counter=counter,
            count=len(affected),
            count2=len(of_hosts),
            meaning=rule.meaning,
        ),
        expected=_EXPECTED,
        part=_("{ending}switch {leaf}", ending="uplinks of " if beyond else "", leaf=leaf),
        otherwise=rule.status,
        fix=_("see the uplinks of {leaf}: how many are up, their errors, PFC and ECN", leaf=leaf)
        if beyond
        else "",
    )
