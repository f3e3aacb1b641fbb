"""What a training wants of storage."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.plan.storage import Workload, checkpoint_bytes, demand

IMAGES = Workload(25.6e6, 150e9, 1.28e6, 10_000, checkpoint_every_s=600)


@pytest.mark.parametrize(
    ("precision", "optimizer", "each"),
    [
        ("bf16", "adam", 14),
        ("fp32", "adam", 12),
        ("bf16", "adam8bit", 8),
        ("fp32", "sgd", 8),
        ("bf16", "none", 2),
    ],
)
def test_bytes_of_a_parameter_in_a_checkpoint(precision, optimizer, each):
    """Weights, master copy and moments add up."""
    assert checkpoint_bytes(1e9, precision, optimizer) == each * 1e9


def test_a_7b_checkpoint_is_94_gb():
    """LLaMA-2-7B with Adam: 6.74 x 14."""
    assert checkpoint_bytes(6.738e9) == pytest.approx(94.3e9, rel=0.01)


def test_reading_follows_the_gpus():
    """10,000 images of 117 kB a second are 1.17 GB/s and as many opens."""
    need = demand(IMAGES)

    assert need.read_bytes_per_s == pytest.approx(1.17e9, rel=0.01)
    assert need.opens_per_s == 10_000
    assert need.epoch_s == pytest.approx(128)


def test_shards_save_opens():
    """1,024 shards of 1,250 images each: 8 opens a second in place of 10,000."""
    packed = Workload(25.6e6, 150e9, 1.28e6, 10_000, files=1024, checkpoint_every_s=600)

    assert demand(packed).opens_per_s == pytest.approx(8)
    assert demand(packed).read_bytes_per_s == demand(IMAGES).read_bytes_per_s


@given(some.floats(1e6, 1e12), some.floats(60, 86400), some.floats(0.001, 0.5), some.integers(0, 50))
def test_a_checkpoint_is_written_within_its_share_of_the_interval(parameters, every, share, kept):
    """Bandwidth times that share of the interval is the checkpoint; all kept ones and the dataset fit."""
    need = demand(
        Workload(
            parameters, 1e12, 1e6, 100, checkpoint_every_s=every, stall_share=share, save_total_limit=kept
        )
    )

    assert math.isclose(need.write_bytes_per_s * every * share, need.checkpoint_bytes)
    assert need.capacity_bytes * 0.8 == pytest.approx(1e12 + kept * need.checkpoint_bytes)


def test_everything_wrong_is_said_at_once():
    """Three findings, and bad usage."""
    with pytest.raises(WrightError) as caught:
        demand(Workload(0, -1, 1e6, 100, headroom=1.0))

    assert [finding.code for finding in caught.value.findings] == ["storage-size"] * 3
    assert caught.value.exit_code == EXIT_USAGE
