"""What carried the bytes, from lines of NCCL 2.8 to 2.27, and from addresses and counters."""

from ipaddress import IPv4Network

from clusterwright.check.bench.transport import Transport, carrier, of_nccl, strangers

IB = (
    "gpu1:42:42 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>",
    "gpu1:42:99 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA",
    "gpu1:42:99 [0] NCCL INFO Channel 01/0 : 0[0] -> 8[0] [send] via NET/IB/1/GDRDMA(PXN)",
    "gpu1:42:99 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read",
    "gpu1:42:99 [0] NCCL INFO NVLS multicast support is available on dev 0",
)


def test_infiniband_with_direct_access_is_seen():
    """Devices, GDRDMA in both directions, and what joins GPUs inside the host."""
    found = of_nccl(IB)

    assert found == Transport("NET/IB", ("mlx5_0", "mlx5_1"), gdr=True, inside=("P2P",), nvls=True)
    assert str(found) == "NET/IB mlx5_0,mlx5_1 GDRDMA P2P NVLS"


def test_direct_access_in_one_direction_only_is_none():
    """The slower half decides."""
    lines = (*IB, "NCCL INFO Channel 02/0 : 8[0] -> 0[0] [receive] via NET/IB/0")

    assert of_nccl(lines).gdr is False
    assert "no GDRDMA" in str(of_nccl(lines))


def test_sockets_in_place_of_infiniband_are_seen():
    """A figure of TCP is no figure of the fabric."""
    lines = [
        "NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>",
        "NCCL INFO Channel 00 : 1[0] -> 0[0] via NET/Socket/0",
    ]

    assert of_nccl(lines) == Transport("NET/Socket", ("eth0",), gdr=False)


def test_a_log_that_says_nothing_claims_nothing():
    """Gloo, or NCCL without NCCL_DEBUG."""
    assert of_nccl(["warming up"]) == Transport()
    assert str(Transport()) == ""


def test_connections_outside_the_network_are_named():
    """Both ends are looked at."""
    ends = (("10.0.1.1", "10.0.1.2"), ("10.0.0.9", "10.0.1.2"))

    assert strangers(ends, IPv4Network("10.0.1.0/24")) == ("10.0.0.9",)


def test_the_interface_that_carried_most_is_named():
    """None, where nothing went."""
    assert carrier({"eth0": 10, "compute": 900}) == "compute"
    assert carrier({"eth0": 0}) == carrier({}) == ""
