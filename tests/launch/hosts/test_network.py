"""The network of agents and ranks, from the addresses of all hosts."""

from ipaddress import IPv4Address, IPv4Interface, IPv4Network

import pytest

from clusterwright.launch.hosts.network import HostAddresses, choose_network


def host(*interfaces, reached_at=None):
    """A host with these addresses, loopback among them."""
    own = tuple(IPv4Interface(text) for text in ("127.0.0.1/8", *interfaces))
    return HostAddresses(own, IPv4Address(reached_at) if reached_at else None)


@pytest.mark.parametrize(
    ("hosts", "network"),
    [
        ([host("10.0.0.1/24"), host("10.0.0.2/24")], "10.0.0.0/24"),
        ([host("172.17.0.1/16", "10.0.0.1/24"), host("172.17.0.1/16", "10.0.0.2/24")], "10.0.0.0/24"),
        (
            [host("10.1.0.1/24", "10.0.0.1/24"), host("10.1.0.2/24", "10.0.0.2/24", reached_at="10.0.0.2")],
            "10.0.0.0/24",
        ),
        ([host("10.0.0.1/24"), host("10.0.1.1/24", reached_at="10.0.1.1")], "10.0.0.0/23"),
        ([host("10.0.0.1/24")], "10.0.0.0/24"),
        ([host("10.0.0.1/24"), host("10.0.0.1/24")], None),
    ],
)
def test_the_network_has_an_address_of_each_host(hosts, network):
    """Not that of a bridge with the same address everywhere; two names of one machine have none."""
    chosen = choose_network({f"h{number}": one for number, one in enumerate(hosts)})

    assert chosen == (IPv4Network(network) if network else None)
