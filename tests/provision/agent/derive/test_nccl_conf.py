"""NCCL's settings worked out on hosts of many kinds: adapters by what they are on, never by what they are called."""

import pytest

from clusterwright.onhost.provision.derive import nccl_conf

IPV6 = ("fd00:0000:0000:0000:0000:0000:0000:0001",)
INFINIBAND = {"kind": "infiniband", "rails": 2, "fabric": "fat-tree"}


def rails(kernel, count, *, first="mlx5_", number=3, **other):
    """RoCE ports with addresses on the compute network; names count from 3, as where storage took the first."""
    kernel.link("mgmt0", "10.10.0.1")
    for index in range(count):
        link, address = f"rail{index}", f"10.20.{index}.1"
        kernel.link(link, address)
        kernel.port(f"{first}{number + index}", gids=kernel.gids(address), link=link, **other)


def test_four_rails_beside_a_bond_for_storage(kernel, worked_out):
    """The bond is RDMA too, and of the storage network: its address says so."""
    kernel.link("bond0", "10.30.0.1")
    kernel.port("mlx5_bond_0", gids=kernel.gids("10.30.0.1"), link="bond0", slaves=("eth0", "eth1"))
    rails(kernel, 4)
    kernel.link("rail0", "10.20.0.1")

    lines, notes = worked_out(nccl_conf)

    assert lines == [
        "NCCL_SOCKET_IFNAME==rail0",
        "NCCL_IB_HCA==mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1",
        "NCCL_IB_GID_INDEX=3",
        "NCCL_IB_TC=106",
        "NCCL_IB_SL=3",
        "NCCL_CROSS_NIC=0",
    ]
    assert notes == []


def test_rails_go_by_the_pci_tree_and_not_by_name(kernel, worked_out):
    """A driver numbers its devices in the order in which they came up."""
    kernel.port("mlx5_0", pci="pci0000:9a/0000:9b:00.0", gids=kernel.gids("10.20.1.1"), link="b")
    kernel.port("mlx5_1", pci="pci0000:15/0000:18:00.0", gids=kernel.gids("10.20.0.1"), link="a")
    kernel.link("a", "10.20.0.1")

    lines, _ = worked_out(nccl_conf, {"rails": 2})

    assert "NCCL_IB_HCA==mlx5_1:1,mlx5_0:1" in lines


@pytest.mark.parametrize("first", ["rocep", "bnxt_re", "irdma", "qedr"])
def test_adapters_of_other_makers_are_as_good(kernel, worked_out, first):
    """Intel's, Broadcom's and Marvell's drivers fill the same files."""
    rails(kernel, 2, first=first, number=0)

    lines, notes = worked_out(nccl_conf, {"rails": 2, "fabric": "leaf-spine"})

    assert f"NCCL_IB_HCA=={first}0:1,{first}1:1" in lines
    assert not any(line.startswith("NCCL_CROSS_NIC") for line in lines)
    assert not any("ports on the compute" in note for note in notes)


def test_infiniband_has_no_gid_index_and_no_marks(kernel, worked_out):
    """And the storage adapter, which is Ethernet, is not taken for it."""
    kernel.link("ib0", "10.20.0.1")
    local = [("fe80:0000:0000:0000:b83f:d203:0002:1a00", "IB/RoCE v1")]
    kernel.port("mlx5_0", gids=local, link="ib0", layer="InfiniBand")
    kernel.port("mlx5_1", gids=local, layer="InfiniBand")
    kernel.port("mlx5_2", gids=kernel.gids("10.30.0.1"), link="storage0")

    lines, notes = worked_out(nccl_conf, INFINIBAND)

    assert lines == ["NCCL_SOCKET_IFNAME==ib0", "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1"]
    assert notes == []


def test_roce_with_ipv6_alone_says_what_is_missing(kernel, worked_out):
    """NCCL would take an address that the other side may not reach."""
    kernel.link("mgmt0", "10.10.0.1")
    kernel.port("mlx5_0", gids=kernel.gids(ipv6=IPV6), link="rail0")

    lines, notes = worked_out(nccl_conf, {"rails": 1})

    assert "NCCL_IB_HCA==mlx5_0:1" in lines
    assert not any("GID" in line for line in lines)
    assert any("mlx5_0:1 has no RoCE v2 GID of an IPv4 address" in note for note in notes)


def test_indexes_that_differ_are_no_number(kernel, worked_out):
    """One interface has an IPv6 address too: NCCL from 2.21 looks for the address itself."""
    kernel.link("a", "10.20.0.1")
    kernel.port("mlx5_0", gids=kernel.gids("10.20.0.1"), link="a")
    kernel.port("mlx5_1", gids=kernel.gids("10.20.1.1", ipv6=IPV6), link="b")

    lines, notes = worked_out(nccl_conf, {"rails": 2})
    older, said = worked_out(nccl_conf, {"rails": 2}, {"nccl": [2, 20, 5]})

    assert "NCCL_IB_ROCE_VERSION_NUM=2" in lines
    assert "NCCL_IB_ADDR_RANGE=10.20.0.0/16" in lines
    assert not any(line.startswith("NCCL_IB_GID_INDEX") for line in lines)
    assert notes == []
    assert not any("GID" in line or "ADDR" in line for line in older)
    assert any("mlx5_0:1 3, mlx5_1:1 5" in note and "software.nccl" in note for note in said)


def test_a_host_without_rdma_is_named_and_nothing_is_guessed(kernel, worked_out):
    """NCCL_IB_DISABLE would be a guess: the module may only not be loaded yet."""
    kernel.link("eth0", "10.10.0.1")

    lines, notes = worked_out(nccl_conf)

    assert lines == ["NCCL_SOCKET_IFNAME==eth0"]
    assert any("this host has no RDMA device, and networks.compute.kind is roce" in note for note in notes)


def test_efa_is_not_for_these_settings(kernel, worked_out):
    """Its link layer is neither: NCCL reaches it by a plugin."""
    kernel.link("ens5", "10.20.0.1")
    kernel.port("rdmap16s27", layer="Unspecified", node="7: <unknown>")

    lines, notes = worked_out(nccl_conf, {"rails": 1})

    assert lines == ["NCCL_SOCKET_IFNAME==ens5"]
    assert any("of another kind: rdmap16s27:1" in note for note in notes)


def test_iwarp_is_not_roce(kernel, worked_out):
    """An Intel adapter in its other mode has the same link layer."""
    rails(kernel, 1, first="irdma", number=0, node="4: RNIC")

    lines, _ = worked_out(nccl_conf, {"rails": 1})

    assert not any("IB_HCA" in line for line in lines)


def test_a_port_that_is_down_stays_and_is_named(kernel, worked_out):
    """NCCL leaves it out by itself; a link that flaps while we look must not cost a rail until the next apply."""
    kernel.link("a", "10.20.0.1")
    kernel.port("mlx5_0", gids=kernel.gids("10.20.0.1"), link="a")
    kernel.port("mlx5_1", gids=kernel.gids("10.20.1.1"), link="b", state="1: DOWN")

    lines, notes = worked_out(nccl_conf, {"rails": 2})

    assert "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1" in lines
    assert any(note.startswith("mlx5_1:1 on the compute network is not active") for note in notes)


def test_a_device_that_is_gone_is_named_and_the_others_are_used(kernel, worked_out):
    """Three of four."""
    rails(kernel, 3)

    lines, notes = worked_out(nccl_conf)

    assert "NCCL_IB_HCA==mlx5_3:1,mlx5_4:1,mlx5_5:1" in lines
    assert any("roce ports on the compute network: 3" in note and "rails is 4" in note for note in notes)


def test_more_ports_than_rails_without_addresses_are_not_guessed(kernel, worked_out):
    """Which two of three it is, nobody can tell; a slower one, or one that is a guest's, would be told."""
    for index in range(3):
        kernel.port(f"mlx5_{index}", layer="InfiniBand")
    _, unsure = worked_out(nccl_conf, INFINIBAND)
    kernel.put("/sys/class/infiniband/mlx5_1/ports/1/rate", "100 Gb/sec (4X EDR)")
    lines, notes = worked_out(nccl_conf, INFINIBAND)

    assert any("not clear which of them" in note and "nodes.h100.nics" in note for note in unsure)
    assert "NCCL_IB_HCA==mlx5_0:1,mlx5_2:1" in lines
    assert not any("not clear which of them" in note for note in notes)


def test_the_file_names_devices_and_their_order(kernel, worked_out):
    """One that this host has not is named; the others are used."""
    for index in range(3):
        kernel.port(f"mlx5_{index}", layer="InfiniBand")

    lines, notes = worked_out(nccl_conf, {**INFINIBAND, "nics": ["mlx5_2", "mlx5_9", "mlx5_0:1"]})

    assert "NCCL_IB_HCA==mlx5_2:1,mlx5_0:1" in lines
    assert any("nodes.h100.nics lists mlx5_9, but this host has no such port" in note for note in notes)


def test_what_the_cluster_file_sets_wins(kernel, worked_out):
    """Each variable is there once."""
    rails(kernel, 4)
    said = {"NCCL_IB_HCA": "mlx5_9", "NCCL_ALGO": "Tree"}

    lines, _ = worked_out(nccl_conf, given={"variables": said})

    assert [line for line in lines if "IB_HCA" in line] == ["NCCL_IB_HCA=mlx5_9"]
    assert lines[-1] == "NCCL_ALGO=Tree"


def test_without_ecn_the_mark_says_so(kernel, worked_out):
    """104 is DSCP 26 with nothing in the two bits below it."""
    rails(kernel, 4)

    lines, _ = worked_out(
        nccl_conf, given={"roce": {"priority": 5, "dscp": 26, "ecn": False, "cnp_dscp": 48}}
    )

    assert {"NCCL_IB_TC=104", "NCCL_IB_SL=5"} <= set(lines)
