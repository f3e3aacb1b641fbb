"""The network that words mean."""

import pytest

from clusterwright.catalog.gpus import gpu
from clusterwright.plan.predict.cells import Cells
from clusterwright.plan.predict.networks import of_row


@pytest.mark.parametrize(
    ("words", "chip", "kind", "node_bytes_per_s"),
    [
        ("4x Omni-Path 100Gb/s per node (Jean Zay)", "A100-SXM-80GB", "omnipath", 50e9),
        ("Omni-Path 100Gb/s x4 per node", "V100-SXM-32GB", "omnipath", 50e9),
        ("1600 Gbps/node RoCE", "A100-SXM-40GB", "roce", 200e9),
        ("400 Gb/s RoCE per GPU (Arista 7800 / Minipack2)", "H100-SXM-80GB", "roce", 400e9),
        ("Selene: 8x HDR200 IB per node", "A100-SXM-80GB", "infiniband", 200e9),
        ("4x 100Gb RoCE per node", "A100-SXM-80GB", "roce", 50e9),
        ("EFA 400 GB/s per node", "H100-SXM-80GB", "efa", 400e9),
        ("Google Cloud A3 (h100-80gb-8)", "H100-SXM-80GB", "tcpx", 100e9),
        ("AWS p3.16xlarge", "V100-SXM2-16GB", "ethernet", 3.125e9),
        ("Azure ND96amsr_A100_v4", "A100-SXM-80GB", "infiniband", 200e9),
        ("8x400Gb/s RoCE", "H100-SXM-80GB", "roce", 400e9),
        ("8x NDR InfiniBand", "H100-SXM-80GB", "infiniband", 400e9),
        ("25GbE", "A100-SXM-80GB", "ethernet", 3.125e9),
        ("", "H100-SXM-80GB", "infiniband", 400e9),
        ("", "A100-SXM-80GB", "infiniband", 200e9),
        ("", "B300", "infiniband", 800e9),
    ],
)
def test_words_of_a_network(words, chip, kind, node_bytes_per_s):
    """Kind, and bytes/s of one node in one direction; the vendor's own system where nothing is said."""
    machine = of_row(Cells.from_row({"interconnect": words}), gpu(chip), 64)

    assert machine.network.kind == kind
    assert machine.network.nics * machine.network.nic_bytes_per_s == pytest.approx(node_bytes_per_s)


def test_a_rack_is_one_nvlink_domain():
    """GB200 comes four to a node, and NVLink joins 72."""
    machine = of_row(Cells.from_row({}), gpu("GB200"), 144)

    assert (machine.gpus_per_node, machine.nvlink_domain) == (4, 72)


def test_smaller_nodes_have_ports_in_proportion():
    """Four H200 have half of what eight have."""
    network = of_row(
        Cells.from_row({"gpus_per_node": "4", "interconnect": "InfiniBand NDR 400Gbps"}), gpu("H200"), 16
    ).network

    assert network.nics * network.nic_bytes_per_s == pytest.approx(200e9)


def test_one_node_needs_no_network():
    """Eight GPUs of one node talk over NVLink."""
    assert of_row(Cells.from_row({}), gpu("H100"), 8).network.kind == "none"
