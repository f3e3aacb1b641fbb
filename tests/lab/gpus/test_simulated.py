"""What the GPUs of a lab's host are."""

import pytest

from clusterwright.lab.gpus.initial_state import render_state
from clusterwright.lab.gpus.simulated import simulated


@pytest.fixture
def of(cluster):
    """The GPUs of a host whose `gpus` are altered."""
    return lambda **gpus: simulated(cluster, cluster.nodes["a100"].gpus.model_copy(update=gpus), "f" * 32)


def test_the_catalog_says_what_the_file_does_not(of):
    """Memory, power, links."""
    found = of(model="h100", memory=None, nvlink=True)

    assert found.name == "Simulated NVIDIA H100-SXM-80GB"
    assert 79 * 2**30 < found.memory_bytes < 80 * 2**30
    assert (found.power_w, found.nvlinks, found.link_mbps, found.capability) == (700, 18, 25000, "9.0")


def test_a_model_that_nobody_knows_is_simulated_by_its_name(of):
    """With what the file says of it, and plain figures for the rest."""
    found = of(model="k9000", nvlink=True)

    assert (found.name, found.memory_bytes, found.nvlinks) == ("Simulated k9000", 80 * 2**30, 0)
    assert "0.name Simulated k9000\n" in render_state(found)


def test_gpus_of_another_vendor_have_no_nvml(of, cluster):
    """And a host without GPUs has none at all."""
    assert of(model="mi300x", memory=None) is None
    assert simulated(cluster, None, "f" * 32) is None


def test_every_gpu_of_a_lab_is_another_one(planned):
    """UUIDs and addresses, up to the most that a host may have."""
    hosts = [host.gpus for host in planned.hosts if host.gpus]
    uuids = [gpus.uuid(index) for gpus in hosts for index in range(128)]

    assert len(set(uuids)) == 2 * 128
    assert len({hosts[0].address(index) for index in range(128)}) == 128
    assert hosts[0].kernel_address(1) == "0000:17:00.0"


@pytest.mark.parametrize(
    ("declared", "said"), [("580.95", "580.95.00"), ("570", "570.00.00"), ("535.183.01", "535.183.01")]
)
def test_a_driver_has_three_numbers_and_begins_as_declared(cluster, declared, said):
    """So that a check of the declared version agrees."""
    own = cluster.model_copy(update={"software": cluster.software.model_copy(update={"driver": declared})})

    assert simulated(own, own.nodes["a100"].gpus, "f" * 32).driver == said


def test_rows_are_remapped_or_pages_retired(of):
    """One of the two, by the generation."""
    new, old = render_state(of(model="h100")), render_state(of(model="v100", memory=None))

    assert ("remap.pending" in new, "retired.pending" in new) == (True, False)
    assert ("remap.pending" in old, "retired.pending" in old) == (False, True)
