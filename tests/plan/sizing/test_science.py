"""Science: the double-precision roofline."""

import pytest

from clusterwright.catalog import gpu
from clusterwright.catalog.gpus import fp64
from clusterwright.plan.sizing.choices import roof


def of(name):
    """The roof of a GPU of ours."""
    card = gpu(name)
    return roof(card, fp64()[card.name])


def test_a_stencil_is_bound_by_memory():
    """A quarter of a FLOP a byte, as in sparse matrices: bandwidth alone counts."""
    assert of("a100-sxm-80gb").attainable(0.25) == pytest.approx(
        0.25 * gpu("a100-sxm-80gb").memory_bytes_per_s
    )


def test_no_code_is_above_the_peak():
    """Above the ridge the arithmetic is the limit."""
    card = of("v100-sxm2-32gb")

    assert card.attainable(card.ridge * 100) == card.vector


def test_inference_cards_are_not_for_science():
    """A T4 does a fortieth of an A100 in double precision."""
    assert of("t4").vector < of("a100-sxm-80gb").vector / 30
