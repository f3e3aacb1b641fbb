"""Which port is on which network, for the script at boot and the checks; and notes of what does not fit together."""

import os

from clusterwright.onhost.provision.derive import rdma_ports, ucx_conf


def given(network, **other):
    """What the role gives, for one network."""
    return {"networks": [network], "driver": "inbox", "mpi": False, **other}


NETWORK = {
    "name": "storage", "kind": "roce", "subnet": "10.30.0.0/16", "rails": 1, "gbits": 200.0, "mtu": 9000,
    "fabric": "leaf-spine", "others": ["10.20.0.0/16"], "nics": [], "group": "h100",
}  # fmt: skip


def two_networks(kernel):
    """A port for gradients, one for storage on a VLAN of a bond."""
    kernel.link("rail0", "10.20.0.1")
    kernel.link("bond0.30", "10.30.0.1")
    kernel.port("mlx5_0", gids=kernel.gids("10.20.0.1"), link="rail0")
    kernel.port("mlx5_bond_0", gids=kernel.gids("10.30.0.1"), link="bond0.30", slaves=("eth0", "eth1"))


def test_the_interface_is_the_one_with_the_address(kernel, worked_out):
    """Of a bond that is neither of the two cables."""
    two_networks(kernel)
    lines, notes = worked_out(rdma_ports, given=given(NETWORK))

    assert lines == ["storage mlx5_bond_0 1 bond0.30 9000"]
    assert notes == []


def test_modules_of_another_kernel_are_named(kernel, worked_out):
    """OFED's are built for one kernel; an upgrade of it leaves the host with the kernel's own, or with none."""
    two_networks(kernel)
    kernel.put("/lib/modules/5.15.0-91-generic/updates/dkms/mlx5_core.ko", "")
    _, stale = worked_out(rdma_ports, given=given(NETWORK, driver="doca-ofed"))
    kernel.put(f"/lib/modules/{os.uname().release}/updates/dkms/mlx5_core.ko.xz", "")
    _, fresh = worked_out(rdma_ports, given=given(NETWORK, driver="doca-ofed"))

    (note,) = stale
    assert note.startswith("the modules of doca-ofed are built for 5.15.0-91-generic, but ")
    assert "dkms autoinstall" in note
    assert fresh == []


def test_slurm_without_its_plugin_for_pmix_is_named(kernel, worked_out):
    """Before a user's srun says so."""
    two_networks(kernel)
    kernel.put("/usr/bin/srun", "")
    _, without = worked_out(rdma_ports, given=given(NETWORK, mpi=True))
    kernel.put("/usr/lib/x86_64-linux-gnu/slurm-wlm/mpi_pmix_v4.so", "")
    _, there = worked_out(rdma_ports, given=given(NETWORK, mpi=True))

    assert any("mpi_pmix*.so" in note for note in without)
    assert there == []


def test_ucx_takes_the_same_ports_and_marks(kernel, worked_out):
    """As NCCL does, unless a variable of the file says otherwise."""
    two_networks(kernel)
    lines, _ = worked_out(ucx_conf, {"rails": 1})
    said, _ = worked_out(ucx_conf, {"rails": 1}, {"variables": {"UCX_TLS": "rc,cuda"}})

    assert lines == ["UCX_NET_DEVICES=mlx5_0:1", "UCX_TLS=^tcp", "UCX_IB_TRAFFIC_CLASS=106", "UCX_IB_SL=3"]
    assert [line for line in said if "TLS" in line] == ["UCX_TLS=rc,cuda"]


def test_ucx_without_rdma_has_the_interface(kernel, worked_out):
    """Docker's bridge has an address too."""
    kernel.link("docker0", "172.17.0.1")
    kernel.link("eth1", "10.20.0.1")
    lines, _ = worked_out(ucx_conf)

    assert lines == ["UCX_NET_DEVICES=eth1"]
