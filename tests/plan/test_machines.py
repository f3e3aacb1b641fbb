from pathlib import Path

import pytest

from clusterwright.catalog.records import Gpu
from clusterwright.config.load import load_cluster
from clusterwright.config.nodes import Gpus
from clusterwright.errors import WrightError
from clusterwright.plan.machines import Wiring, gpu_like, machine, machine_of

ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "src" / "clusterwright" / "config" / "templates"


def gpu(name="h100-sxm-80gb", arch="Hopper", form="SXM5", memory=80e9, link=450e9):
    """A GPU with what matters here."""
    return Gpu(name, {"bf16": 989e12}, memory, 3.35e12, link, arch=arch, form=form)


CATALOG = (
    gpu(),
    gpu("h100-pcie-80gb", form="PCIe", link=0.0),
    gpu("a100-sxm-40gb", "Ampere", "SXM4", 40e9),
    gpu("a100-sxm-80gb", "Ampere", "SXM4", 80e9),
    gpu("gb200", "Blackwell", "superchip", 186e9, 900e9),
)


def test_a_machine_is_wired_as_the_maker_wires_it():
    """Eight 400 Gbit/s ports for eight H100, four for a tray of GB200."""
    h100, gb200 = machine(CATALOG[0], 64), machine(CATALOG[4], 144)

    assert (h100.gpus_per_node, h100.nvlink_domain, h100.network.nics) == (8, 8, 8)
    assert h100.network.nic_bytes_per_s == 50e9
    assert (gb200.gpus_per_node, gb200.nvlink_domain, gb200.network.nics) == (4, 72, 4)


def test_what_is_said_of_the_network_holds():
    """Kind, ports, rate and oversubscription are the user's where they are given."""
    wiring = Wiring(4, 2, "roce", 2, 25e9, 3.0)
    made = machine(CATALOG[0], 64, wiring)

    assert (made.gpus_per_node, made.nvlink_domain) == (4, 2)
    assert (made.network.kind, made.network.nics, made.network.nic_bytes_per_s) == ("roce", 2, 25e9 / 8)
    assert made.network.oversubscription == 3.0


def test_one_node_has_no_network():
    """Eight GPUs of one node need no NIC; a card without NVLink is a domain of its own."""
    assert machine(CATALOG[0], 8).network.kind == "none"
    assert machine(CATALOG[1], 8).nvlink_domain == 1


def test_a_cluster_file_becomes_a_machine():
    """The HGX template: 16 hosts of 8 H100 with NVLink, eight 400 Gbit/s rails."""
    cluster = load_cluster(TEMPLATES / "hgx.yaml")
    made = machine_of(cluster, None, CATALOG)

    assert (made.gpu.name, made.gpus, made.gpus_per_node, made.nvlink_domain) == ("h100-sxm-80gb", 128, 8, 8)
    assert (made.network.kind, made.network.nics, made.network.nic_bytes_per_s) == ("infiniband", 8, 50e9)


def test_a_group_without_gpus_is_refused():
    """The fix names the groups that have GPUs."""
    cluster = load_cluster(TEMPLATES / "hgx.yaml")

    with pytest.raises(WrightError, match="plan-no-gpus") as told:
        machine_of(cluster, "login", CATALOG)
    assert "h100" in told.value.findings[0].fix


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"model": "a100", "memory": "40GiB", "nvlink": True}, "a100-sxm-40gb"),
        ({"model": "a100", "memory": "80GiB", "nvlink": True}, "a100-sxm-80gb"),
        ({"model": "h100", "nvlink": False}, "h100-pcie-80gb"),
        ({"model": "xpu-9000"}, None),
    ],
)
def test_the_catalog_row_is_the_one_that_fits(fields, name):
    """Model first, then memory, then NVLink; a model that is nowhere is refused."""
    wanted = Gpus.model_validate({"count": 8, **fields})
    if name is None:
        with pytest.raises(WrightError, match="plan-no-gpus"):
            gpu_like(wanted, CATALOG)
    else:
        assert gpu_like(wanted, CATALOG).name == name
