"""Double-precision rates."""

from clusterwright.catalog import gpus
from clusterwright.catalog.gpus import fp64


def test_every_row_is_of_a_gpu_we_know():
    """By its name in the table of GPUs."""
    assert set(fp64()) <= set(gpus())


def test_double_precision_is_slower_than_single():
    """The vector rate is at most that of fp32, where both are known."""
    for name, rate in fp64().items():
        assert 0 < rate.vector <= gpus()[name].peak.get("fp32", 1e18) * 1.001, name
        assert rate.source
