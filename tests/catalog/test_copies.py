"""Copies into and out of GPUs."""

import pytest

from clusterwright.catalog import gpus
from clusterwright.catalog.gpus import copy_rates, pcie_bytes_per_s


def test_every_row_is_of_a_gpu_we_know():
    """By its name in the table of GPUs."""
    assert set(copy_rates()) <= set(gpus())


@pytest.mark.parametrize("name", sorted(copy_rates()))
def test_no_copy_is_faster_than_its_line(name):
    """PCIe, NVLink and the port bound them; and a limit of less than half the line would find nothing."""
    gpu, row = gpus()[name], copy_rates()[name]

    assert 0.5 < row.host_bytes_per_s / pcie_bytes_per_s(gpu) < 1
    assert 0.5 < row.peer_bytes_per_s / gpu.link_bytes_per_s < 1
    assert 0.5 < row.gdr_share < 1
    assert row.source
