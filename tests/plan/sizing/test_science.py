"""Science: the double-precision roofline."""

from clusterwright.catalog import gpu
from clusterwright.catalog.gpus import fp64
from clusterwright.plan.sizing.choices import roof


def of(name):
    """The roof of a GPU of ours."""
    card = gpu(name)
    return roof(card, fp64()[card.name])


def test_inference_cards_are_not_for_science():
    """A T4 does a fortieth of an A100 in double precision."""
    assert of("t4").vector < of("a100-sxm-80gb").vector / 30
