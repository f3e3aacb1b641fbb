"""Choose the network on which agents and ranks of a run without a scheduler connect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Any

from clusterwright.launch.unmanaged.learn import covering


@dataclass(frozen=True, slots=True)
class HostAddresses:
    """The addresses of a host, and the one at which ssh reached it, if it was ssh."""

    interfaces: tuple[IPv4Interface, ...]
    reached_at: IPv4Address | None = None

    def inside(self, network: IPv4Network) -> IPv4Address | None:
        """Return the host's first address inside the network; None if it has none."""
        return next((interface.ip for interface in self.interfaces if interface.ip in network), None)


def addresses_of(survey: Mapping[str, Any]) -> HostAddresses:
    """Return the addresses of a host from what its survey found (onhost/supervisor/preflight/survey.py)."""
    interfaces = tuple(IPv4Interface(f"{address}/{mask}") for _name, address, mask in survey["addresses"])
    reached = next((text for text in survey["reached_at"] if text.count(".") == 3), None)
    return HostAddresses(interfaces, IPv4Address(reached) if reached else None)


def choose_network(hosts: Mapping[str, HostAddresses]) -> IPv4Network | None:
    """Return a network in which each host has an address of its own; None if there is none.

    The networks of interfaces that all hosts have come first, those that ssh uses before others, so that a bridge of
    containers with the same address everywhere is none. Routed hosts have no common one: the smallest network with the
    addresses that ssh reached counts.
    """
    reference = next(iter(hosts.values()))
    reached = [host.reached_at for host in hosts.values() if host.reached_at]
    common = [
        interface.network
        for interface in reference.interfaces
        if interface.ip in _distinct(interface.network, list(hosts.values()))
    ]
    if common:
        return max(
            common,
            key=lambda network: (not network.is_loopback, sum(address in network for address in reached)),
        )
    addresses = [host.reached_at or _routed(host) for host in hosts.values()]
    network = covering([address for address in addresses if address])
    return network if _distinct(network, list(hosts.values())) else None


def _distinct(network: IPv4Network, hosts: Sequence[HostAddresses]) -> set[IPv4Address]:
    """Return the address of each host inside the network; none if a host has none, or two the same."""
    addresses = [host.inside(network) for host in hosts]
    distinct = {address for address in addresses if address}
    return distinct if len(distinct) == len(hosts) else set()


def _routed(host: HostAddresses) -> IPv4Address | None:
    """Return the host's first address that is not loopback; None without one."""
    return next((interface.ip for interface in host.interfaces if not interface.is_loopback), None)
