"""Addresses of node groups: a group has consecutive addresses, so hosts with others are in further groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network

from clusterwright.adopt.groups import HostGroup, free_name, group_stem
from clusterwright.config.names import expand_valid, fold
from clusterwright.launch.unmanaged.learn import covering

# RFC 2544: no host has these addresses. They stand for addresses that are not known.
PLACEHOLDER = IPv4Network("198.18.0.0/15")
_LARGEST_PREFIX, _MOST_GROUPS = 8, 512


def addressed(
    groups: Mapping[str, HostGroup], host_addresses: Mapping[str, IPv4Address]
) -> tuple[dict[str, HostGroup], dict[str, str], IPv4Network]:
    """Return groups each with consecutive addresses, the first address of each, and the management network.

    Groups are split for that. Without an address of every host, or with addresses that no cluster file can have, all
    addresses are placeholders.
    """
    hosts = [host for group in groups.values() for host in group.hosts]
    subnet = _subnet([host_addresses[host] for host in hosts if host in host_addresses])
    if (
        subnet is None
        or not all(host in host_addresses for host in hosts)
        or len(set(host_addresses.values())) < len(host_addresses)
    ):
        return _placeholders(groups)
    split: dict[str, HostGroup] = {}
    for name, group in groups.items():
        for run in _runs(expand_valid(fold(group.hosts)), host_addresses):
            stem = name if run[0] == group.hosts[0] else group_stem(run[0])
            split[free_name(stem, split)] = replace(group, hosts=run)
    if len(split) > max(_MOST_GROUPS, 2 * len(groups)):
        return _placeholders(groups)
    return split, {name: str(host_addresses[group.hosts[0]]) for name, group in split.items()}, subnet


def _placeholders(
    groups: Mapping[str, HostGroup],
) -> tuple[dict[str, HostGroup], dict[str, str], IPv4Network]:
    next_address, addresses = PLACEHOLDER[1], {}
    for name, group in groups.items():
        addresses[name] = str(next_address)
        next_address += len(group.hosts)
    return dict(groups), addresses, PLACEHOLDER


def _runs(hosts: Iterable[str], host_addresses: Mapping[str, IPv4Address]) -> Iterator[list[str]]:
    """Yield the hosts, in their order, in lists of consecutive addresses."""
    run: list[str] = []
    for host in hosts:
        if run and host_addresses[host] != host_addresses[run[-1]] + 1:
            yield run
            run = []
        run.append(host)
    yield run


def _subnet(addresses: list[IPv4Address]) -> IPv4Network | None:
    """Return the smallest private network in which no host has the first or the last address; None if there is none."""
    if not addresses:
        return None
    subnet = covering(addresses)
    while subnet.prefixlen > _LARGEST_PREFIX and (
        subnet.prefixlen > 30 or {subnet[0], subnet[-1]} & set(addresses)
    ):
        subnet = subnet.supernet()
    is_usable = subnet.is_private and not subnet.is_loopback and not subnet.is_link_local
    return subnet if is_usable and not {subnet[0], subnet[-1]} & set(addresses) else None
