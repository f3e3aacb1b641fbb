"""Commands for bridges and links, and subnets that are in use."""

from clusterwright.lab import network

ADDRESSES = [
    {"ifname": "lo", "addr_info": [{"local": "127.0.0.1", "prefixlen": 8}]},
    {"ifname": "eth0", "addr_info": [{"local": "10.231.1.7", "prefixlen": 22}]},
]
ROUTES = [
    {"type": "unicast", "dst": "default", "gateway": "10.231.0.1", "dev": "eth0"},
    {"dst": "172.17.0.0/16", "dev": "docker0"},
    {"type": "broadcast", "dst": "10.231.3.255", "dev": "eth0"},
]


def test_a_bridge_forwards_from_the_first_packet(planned):
    """No spanning tree, no delay; both ends of a link are made in one command."""
    lines = network.bridges(planned)

    first = planned.bridges[0].name
    assert lines[0] == f"link add {first} mtu 1500 type bridge forward_delay 0 stp_state 0"
    assert f"addr add 10.231.0.254/24 dev {first}" in lines
    assert f"netns add {planned.hosts[0].namespace}" in lines
    outside = planned.hosts[0].links[0].outside
    assert (
        f"link add {outside} mtu 1500 type veth peer name management mtu 1500 netns {planned.hosts[0].namespace}"
        in lines
    )


def test_a_bucket_holds_what_the_kernel_hands_over_at_once(planned):
    """A small rate still lets a segment of 64 KiB through; a large one a tick's worth."""
    link = planned.host("gpu-node1").links[1]

    assert network.shape(link, "x", 1_000_000).split()[9] == str(128 * 1024)
    assert int(network.shape(link, "x", 10**11).split()[9]) >= 10**11 // 8 // 250


def test_networks_of_this_machine_leave_out_the_default_route():
    """It leads everywhere and would overlap everything."""
    found = network.networks_of(ADDRESSES, ROUTES)

    assert found == {
        "127.0.0.0/8": "address 127.0.0.1 of lo",
        "10.231.0.0/22": "address 10.231.1.7 of eth0",
        "172.17.0.0/16": "a route of this machine through docker0",
    }


def test_an_overlap_names_both_sides(planned):
    """Every network of the lab that is not free."""
    found = network.clashes(planned, network.networks_of(ADDRESSES, ROUTES))

    assert [finding.code for finding in found] == ["lab-subnet-in-use"] * 2
    assert (
        "compute subnet 10.231.1.0/24 overlaps 10.231.0.0/22, address 10.231.1.7 of eth0" in found[1].message
    )
    assert network.clashes(planned, {"10.230.0.0/16": "a route of this machine through x"}) == ()
