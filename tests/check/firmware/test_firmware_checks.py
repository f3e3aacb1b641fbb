"""Faults of firmware and slots, put into a board one at a time: found by their own check, and gone after the fix."""

from pathlib import Path
from typing import get_args

import pytest

from clusterwright.check.bios import Setting, pages
from clusterwright.check.facts.gpu_topology import gpu_topology

GPU, NIC, UP, DOWN, ROOT_PORT, DISK = (
    "0000:33:00.0", "0000:34:00.0", "0000:31:00.0", "0000:32:00.0", "0000:30:01.0", "0000:f1:00.0",
)  # fmt: skip
SLOT = f"{GPU} (slot 32)"
GIB = 1 << 30
RECORDED = Path(__file__).parents[1] / "facts/gpu_topology"
NOWHERE = "0x0000000000000000 0x0000000000000000 0x0000000000000000\n" * 6
# What the kernel leaves of a window that it found no room for (IORESOURCE_UNSET), and of a GPU's other windows.
UNSET = "0x92000000 0x92ffffff 0x40200\n0x0 0x1fffffffff 0x2014220c\n" + "0x0 0x0 0x0\n" * 4


def twice(*changes):
    """Several changes, as one."""

    def both(tree):
        for change in changes:
            change(tree)

    return both


def change(address, name, text):
    """That file of the device is another."""
    return lambda tree: tree.change(address, name, text)


FAULTS = {
    "no_room": (change(GPU, "resource", UNSET), "above_4g", "fail", f"gpu {GPU}",
        f"the GPU at {SLOT} has a BAR without an address", "Integrated Devices > Memory Mapped I/O above 4GB"),
    "no_window_at_all": (change(GPU, "resource", NOWHERE), "above_4g", "fail", f"gpu {GPU}",
        f"the GPU at {SLOT} has a BAR without an address", "MmioAbove4Gb"),
    "smaller_window": (lambda tree: tree.windows(GPU, 2, GIB // 4), "above_4g", "fail", f"gpu {GPU}",
        f"the GPU at {SLOT} has a BAR of 256 MiB, an equal GPU one of 128 GiB", "Memory Mapped I/O above 4GB"),
    "window_not_resized": (lambda tree: tree.capabilities(GPU, "", None, (1, GIB // 4, 128 * GIB)), "resizable_bar",
        "warn", f"gpu {GPU}", f"BAR 1 of the GPU at {SLOT} has 256 MiB of 128 GiB", "Re-Size BAR Support"),
    "functions": (change(NIC, "sriov_numvfs", "8"), "sriov", "warn", "mlx5_2",
        f"virtual functions of the adapter at {NIC}: 8", f"echo 0 > /sys/bus/pci/devices/{NIC}/sriov_numvfs"),
    "switch_redirects": (lambda tree: tree.capabilities(DOWN, "down", 0x1D), "acs", "fail", DOWN,
        f"the switch port at {DOWN} has ACS redirection on (ACSCtl 0x001d)", f"setpci -s {DOWN} ECAP_ACS+6.w=0000"),
    "root_redirects": (lambda tree: tree.capabilities(ROOT_PORT, "root", 0x1D), "acs", "warn", ROOT_PORT,
        f"the root port at {ROOT_PORT} has ACS redirection on (ACSCtl 0x001d)", "ACS Control"),
    "translates": (twice(
        lambda tree: tree.domain("DMA-FQ"), lambda tree: tree.put("proc/cmdline", "ro intel_iommu=on")),
        "iommu", "warn", "",
        "IOMMU in translation mode for 16 of 16 GPUs and adapters (DMA-FQ); kernel command line: intel_iommu=on",
        "iommu=pt"),
    "no_node": (change(GPU, "numa_node", "-1"), "numa", "warn", f"gpu {GPU}",
        f"the firmware reports no NUMA node for the gpu at {SLOT} (numa_node is -1)", "_PXM"),
    "interleaved": (twice(
        lambda tree: (tree.root / "sys/devices/system/node/node1/cpulist").write_text(""),
        lambda tree: tree.put("sys/devices/system/node/node0/cpulist", "0-111")),
        "numa", "fail", "", "NUMA nodes: 1, sockets: 2", "node interleaving: off"),
    "gpu_lost_lanes": (change(GPU, "current_link_width", "8"), "pcie_links", "fail", f"gpu {GPU}",
        f"the gpu at {SLOT} has 8 of 16 lanes", "reseat"),
    "switch_lost_lanes": (change(UP, "current_link_width", "4"), "pcie_links", "fail", f"bridge {UP}",
        f"the switch at {UP} has 4 of 16 lanes", "reseat"),
    "adapter_slow": (change(NIC, "current_link_speed", "8.0 GT/s PCIe"), "pcie_links", "warn", f"nic {NIC}",
        f"the nic at {NIC} runs at 8 of 32 GT/s", "Slot Bifurcation"),
    "disk_lost_lanes": (change(DISK, "current_link_width", "1"), "pcie_links", "fail", f"nvme {DISK}",
        f"the nvme at {DISK} has 1 of 4 lanes", "reseat"),
    "narrow_slot": (twice(change(DOWN, "max_link_width", "8"), change(GPU, "current_link_width", "8")),
        "pcie_links", "warn", f"gpu {GPU}",
        f"the gpu at {SLOT} supports 16 lanes but its slot only 8", "move the card"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_by_its_own_check_and_is_gone_after_the_mend(name, made, want, judge, not_green):
    """Part, severity and words are right, the fix names the page or the command, and no other check is told of it."""
    damage, check, status, part, saw, fix = FAULTS[name]
    tree, host = made(), want()
    damage(tree)

    found = not_green(host, tree.read())

    assert (check, status, part, saw) in {(at, v.status.value, v.part, v.observed) for at, v in found}, found
    assert all(at == check for at, _v in found)
    assert any(fix in v.fix for _at, v in found)
    assert not_green(host, made("fixed").read()) == []


def test_a_board_without_a_fault_raises_no_alarm(tree, want, judge):
    """Idle GPUs at 2.5 GT/s, a screen of the board's own and a disk with four lanes are no findings."""
    host, have = want(), tree.read()

    said = {name: [(v.status.value, v.observed) for v in judge(host, name, have)] for name in (
        "above_4g", "resizable_bar", "sriov", "acs", "iommu", "numa", "pcie_links", "nic_slots")}  # fmt: skip

    assert said == {
        "above_4g": [("ok", "all BARs have addresses above 4 GiB; GPUs: 8, smallest BAR: 128 GiB")],
        "resizable_bar": [("ok", "8 GPUs with their largest BAR")],
        "sriov": [("ok", "8 adapters as declared")],
        "acs": [("ok", "32 bridges without ACS redirection")],
        "iommu": [("ok", "no IOMMU")],
        "numa": [("ok", "NUMA nodes: 2, sockets: 2")],
        "pcie_links": [("ok", "25 PCIe links at full width and speed")],
        "nic_slots": [("ok", ", ".join(f"0000:{bus}3:00.0: PIX or PXB" for bus in range(1, 9)))],
    }


def test_source_validation_alone_is_no_redirect(tree, want, judge):
    """What NCCL's guide greps for (SrcValid+) says that ACS is there, not that it sends data another way."""
    tree.capabilities(DOWN, "down", 0x1)

    assert [v.status.value for v in judge(want(), "acs", tree.read())] == ["ok"]


def test_an_iommu_that_passes_through_is_well(tree, want, judge):
    """The command line is told, but the domain's kind decides: iommu=pt alone is a wish."""
    tree.put("proc/cmdline", "ro amd_iommu=on iommu=pt")
    tree.domain("identity")

    (found,) = judge(want(), "iommu", tree.read())

    assert (found.status.value, found.observed) == (
        "ok",
        "IOMMU in pass-through mode; kernel command line: amd_iommu=on iommu=pt",
    )


def test_an_iommu_of_which_the_kernel_says_nothing_is_unknown(tree, want, judge):
    """Kernels before 5.11 have no `type` of a group."""
    tree.put("sys/class/iommu/dmar0/name", "")

    assert [v.status.value for v in judge(want(), "iommu", tree.read())] == ["unknown"]


def test_functions_that_the_file_wants_must_be_there(tree, want, judge):
    """None made, and firmware that leaves no room for any: two findings with two fixes."""
    host = want(("    switch: su1", "    firmware: {virtual_functions: true}\n    switch: su1"))
    tree.change(NIC, "sriov_totalvfs", "0")

    found = {v.part: v for v in judge(host, "sriov", tree.read())}

    assert found["mlx5_2"].observed == f"the adapter at {NIC} supports no virtual functions"
    assert "Integrated Devices > SR-IOV Global Enable" in found["mlx5_2"].fix
    assert found["mlx5_3"].observed == "the adapter at 0000:44:00.0 has 0 of 16 virtual functions"
    assert "nodes.h100.firmware.virtual_functions" in found["mlx5_3"].expected


@pytest.mark.parametrize(("declared", "status"), [(1, "ok"), (4, "fail")])
def test_nodes_of_a_socket_are_held_against_the_file(tree, want, judge, declared, status):
    """Left out, they are as they are; said, they must be so."""
    host = want(("    switch: su1", f"    firmware: {{numa_per_socket: {declared}}}\n    switch: su1"))

    (found,) = judge(host, "numa", tree.read())

    assert (found.status.value, found.observed) == (status, "NUMA nodes: 2, sockets: 2")
    assert "nodes.h100.firmware.numa_per_socket" in found.expected


def test_a_gpu_on_another_socket_than_the_file_says(tree, want, judge):
    """`gpus.sockets` gives jobs the cores beside their GPUs: wrong, it gives them the far ones."""
    host = want(("nvlink: true}", "nvlink: true, sockets: [0, 0, 0, 1, 1, 1, 1, 1]}"))

    assert [(v.observed, v.expected) for v in judge(host, "numa", tree.read())] == [
        ("GPU 3 is attached to socket 0", "socket 1 (nodes.h100.gpus.sockets)")
    ]


def test_an_adapter_in_another_slot_leaves_its_gpu_alone(tmp_path, made, want, judge):
    """Seven GPUs share a switch with an adapter, one has its adapter beside another host bridge."""
    tree = made()
    (tree.root / "sys/bus/pci/devices" / NIC).unlink()

    assert [(v.part, v.observed, v.expected) for v in judge(want(), "nic_slots", tree.read())] == [
        (
            f"gpu {GPU}",
            f"the nearest RDMA adapter of the GPU at {SLOT} is at distance NODE",
            "the nearest RDMA adapter is at distance PIX or PXB, as for 7 of 8 GPUs",
        )
    ]


def test_half_of_the_gpus_without_an_adapter_beside_them_is_how_it_was_built(made, want, judge):
    """Four adapters for eight GPUs: nothing says that one is in a wrong slot."""
    tree = made()
    for bus in range(1, 9, 2):
        (tree.root / f"sys/bus/pci/devices/0000:{bus}4:00.0").unlink()

    assert [v.status.value for v in judge(want(), "nic_slots", tree.read())] == ["ok"]


def test_a_slot_that_cannot_carry_the_declared_rate(tree, want, judge):
    """16 lanes at 16 GT/s are 252 Gbit/s: enough for 200, too little for 400."""
    for name in ("current_link_speed", "max_link_speed"):
        tree.change(NIC, name, "16.0 GT/s PCIe")
    have = tree.read()

    (found,) = judge(want(), "pcie_links", have)

    assert found.observed == f"the PCIe slot of mlx5_2 at {NIC} carries 252 Gbit/s"
    assert found.expected == "at least 400 Gbit/s (networks.compute.rate)"
    slower = want(("subnet: 10.20.0.0/22\n    rate: 400Gbit/s", "subnet: 10.20.0.0/22\n    rate: 200Gbit/s"))
    assert [v.status.value for v in judge(slower, "pcie_links", have)] == ["ok"]


def test_a_guest_is_skipped_by_every_check_of_the_board(tree, want, not_green, judge):
    """Its board is its hypervisor's invention: nothing in it is green, and nothing a fault."""
    tree.put("proc/cpuinfo", "vendor_id : GenuineIntel\nphysical id : 0\nflags : fpu hypervisor\n")
    tree.change(GPU, "resource", NOWHERE)
    have = tree.read()

    assert {v.status.value for name in ("above_4g", "acs", "iommu", "numa", "pcie_links", "sriov", "resizable_bar",
        "nic_slots") for v in judge(want(), name, have)} == {"skipped"}  # fmt: skip


def test_what_only_root_may_read_is_unknown_without_it(tree, want, judge):
    """Anyone gets 64 bytes of a configuration space: neither ACS nor the sizes of a BAR are in them."""
    for address, place in tree.places.items():
        tree.change(address, "config", (tree.root / place / "config").read_bytes()[:64])
    have = tree.read()

    assert [v.status.value for check in ("acs", "resizable_bar") for v in judge(want(), check, have)] == [
        "unknown", "unknown",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("maker", "processor", "page"),
    [
        ("Supermicro", "AuthenticAMD", "Advanced > PCIe/PCI/PnP Configuration > Above 4G Decoding"),
        ("HPE", "AuthenticAMD", "PCI Express 64-Bit BAR Support"),
        ("Lenovo", "GenuineIntel", "Devices and I/O Ports > PCI 64-Bit Resource Allocation"),
        ("GIGABYTE", "AuthenticAMD", "Advanced > PCI Subsystem Settings > Above 4G Decoding"),
        ("ASUSTeK COMPUTER INC.", "AuthenticAMD", "Advanced > PCI Subsystem Settings > Above 4G Decoding"),
        ("Acme", "GenuineIntel", "Above 4G Decoding (or: 64-bit PCI resources, large BAR, MMIO above 4 GB)"),
    ],
)
def test_the_page_is_that_of_the_hosts_maker(made, want, judge, maker, processor, page):
    """A maker of whom no page is known gets the words that others use."""
    tree = made(maker=maker, model="server 1", processor=processor)
    tree.change(GPU, "resource", NOWHERE)

    (found,) = judge(want(), "above_4g", tree.read())

    assert page in found.fix
    assert found.fix.startswith(f"set BIOS of {maker} server 1: ")


def topology(case):
    """What nvidia-smi said of how GPUs are joined."""
    return gpu_topology.parse((RECORDED / f"{case}.txt").read_text())


@pytest.mark.parametrize(
    ("case", "found"),
    [
        ("h200_nvswitch", [("ok", "", "each of 8 GPUs has NVLink to 7 other GPUs")]),
        ("h200_coloured", [("ok", "", "each of 8 GPUs has NVLink to 7 other GPUs")]),
        ("a100_bridged_pairs", [("ok", "", "each of 4 GPUs has NVLink to 1 other GPUs")]),
        ("lab_compute", [("ok", "", "each of 4 GPUs has NVLink to 3 other GPUs")]),
        ("lab_one_lost", [("ok", "", "each of 3 GPUs has NVLink to 2 other GPUs")]),
    ],
)
def test_gpus_that_are_all_joined_alike_are_well(want, judge, case, found):
    """By NVSwitch with all others, by a bridge with one."""
    assert [
        (v.status.value, v.part, v.observed) for v in judge(want(), "gpu_joined", topology(case))
    ] == found


def test_a_gpu_that_nvlink_leaves_out_is_named(want, judge):
    """It reaches the others over the sockets; the seven are not blamed for one link less."""
    assert [(v.status.value, v.part) for v in judge(want(), "gpu_joined", topology("h200_one_left_out"))] == [
        ("fail", "gpu 3")
    ]


def test_gpus_that_nothing_joins_are_told_where_the_file_says_nvlink(want, judge):
    """A file that promises NVLink to the planner, and a host without."""
    ways = {0: {1: "PHB"}, 1: {0: "PHB"}}

    assert {(v.status.value, v.part, v.observed) for v in judge(want(), "gpu_joined", ways)} == {
        ("fail", "gpu 0", "GPU 0: PHB to GPU 1"), ("fail", "gpu 1", "GPU 1: PHB to GPU 0"),
    }  # fmt: skip


def test_every_setting_has_a_page_of_no_maker_and_every_row_its_source():
    """A maker of whom nothing is known gets a name to look for."""
    assert {row.setting for row in pages() if not row.maker} == set(get_args(Setting))
    assert all(row.source for row in pages())
