"""What a cluster should measure follows from its file and the catalog."""

from pathlib import Path

import pytest

from clusterwright.config.load import load_cluster
from clusterwright.config.nodes import Gpus
from clusterwright.plan.expected import expected, gpu_memory_bytes

EXAMPLES = Path(__file__).parents[2] / "examples"


def figures(name):
    """The figures of an example's first group with GPUs."""
    found = expected(load_cluster(EXAMPLES / name / "cluster.yaml"))
    return {one.metric: one.value for one in found if one.group == found[0].group}


@pytest.mark.parametrize("name", sorted(path.parent.name for path in EXAMPLES.glob("*/cluster.yaml")))
def test_no_figure_goes_beyond_what_carries_it(name):
    """Every example has figures; a port carries less than the whole node's collectives may."""
    made = figures(name)

    assert made["all-reduce over all nodes"] > 0
    assert made["memory of one GPU"] < 200e9


def test_a_100gb_port_carries_12_5_gbytes():
    """Bits and bytes are not mixed up, as the field guides did with 90 GB/s on 100 Gb/s."""
    assert figures("a100")["one port, at most"] == 12.5e9


def test_hgx_h100_reduces_in_its_switch():
    """Published: 450 to 480 GB/s of bus bandwidth on eight H100 or H200 with NVLS."""
    assert 440e9 < figures("hgx")["all-reduce inside a node"] < 490e9


def test_memory_is_the_files_word_before_the_catalogs():
    """A declared size wins; without one an A100 has 39 or 79 GiB."""
    assert gpu_memory_bytes(Gpus(model="a100", count=8, memory="40GiB")) == 40 * 2**30
    assert gpu_memory_bytes(Gpus(model="h100", count=8)) > 79 * 2**30
