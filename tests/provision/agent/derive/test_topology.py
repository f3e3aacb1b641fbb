"""NCCL's topology file: which GPU is beside which adapter."""

import xml.etree.ElementTree as ET

from clusterwright.onhost.provision.derive import nccl_conf, topology

GPU = {
    "vendor": "0x10de",
    "class": "0x030200",
    "numa_node": "0",
    "max_link_speed": "32.0 GT/s PCIe",
    "max_link_width": "16",
}


def two_switches(kernel):
    """Each PCI switch has a GPU and an adapter below it; the board's own display hangs elsewhere."""
    for bus in ("15", "9a"):
        below = f"pci0000:{bus}/0000:{bus}:01.0/0000:{bus}:02.0"
        numa = "0" if bus == "15" else "1"
        kernel.pci(f"{below}/0000:{bus}:03.0/0000:{bus[0]}b:00.0", **{**GPU, "numa_node": numa})
        kernel.port(
            f"mlx5_{numa}",
            pci=f"{below}/0000:{bus}:04.0/0000:{bus[0]}c:00.0",
            gids=kernel.gids("10.20.0.1"),
            link="a",
        )
        kernel.put(
            f"/sys/devices/pci0000:{bus}/0000:{bus}:01.0/0000:{bus}:02.0/0000:{bus}:04.0/0000:{bus[0]}c:00.0/numa_node",
            numa,
        )
        kernel.put(f"/sys/devices/system/node/node{numa}/cpumap", "ffff")
    kernel.pci("pci0000:00/0000:00:02.0", vendor="0x1a03", **{"class": "0x030000"})
    kernel.put("/proc/cpuinfo", "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143")


def test_each_gpu_is_beside_its_adapter(kernel, worked_out):
    """Bridges that part nothing are left out; what XML reads is the tree."""
    two_switches(kernel)
    lines, notes = worked_out(topology)
    system = ET.fromstring("\n".join(lines))
    found = [
        (cpu.get("numaid"), bridge.get("busid"), [end.get("busid") for end in bridge])
        for cpu in system
        for bridge in cpu
    ]

    assert found == [
        ("0", "0000:15:02.0", ["0000:1b:00.0", "0000:1c:00.0"]),
        ("1", "0000:9a:02.0", ["0000:9b:00.0", "0000:9c:00.0"]),
    ]
    assert system[0].attrib["vendor"] == "GenuineIntel"
    assert notes == []


def test_nccl_is_told_of_it(kernel, worked_out):
    """Only where there is one."""
    two_switches(kernel)
    lines, _ = worked_out(nccl_conf, {"rails": 2}, {"topology": "/etc/clusterwright/nccl-topology.xml"})

    assert "NCCL_TOPO_FILE=/etc/clusterwright/nccl-topology.xml" in lines


def test_a_flat_tree_says_nothing(kernel, worked_out):
    """As in a virtual machine: no file, and NCCL is not told of one."""
    kernel.pci("pci0000:00/0000:00:05.0", **GPU)
    kernel.port("mlx5_0", pci="pci0000:00/0000:00:06.0", layer="InfiniBand")

    lines, notes = worked_out(topology)
    said, _ = worked_out(nccl_conf, {"kind": "infiniband", "rails": 1}, {"topology": "/etc/x.xml"})

    assert lines is None
    assert any("no GPU and adapter share a PCI bridge" in note for note in notes)
    assert not any("TOPO" in line for line in said)
