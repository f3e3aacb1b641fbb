"""Hardware side by side."""

from dataclasses import replace

import pytest

from clusterwright.catalog import UserCatalog, architecture, gpus
from clusterwright.catalog.gpus import fp64
from clusterwright.catalog.prices import price
from clusterwright.catalog.records import Deal
from clusterwright.errors import WrightError
from clusterwright.plan.sizing.choices import (
    USUAL,
    Scenario,
    currency,
    for_inference,
    for_science,
    for_training,
)


@pytest.mark.parametrize("scenario", Scenario)
def test_the_usual_choices_are_in_the_catalog(scenario):
    """By their names there, and for science with a double-precision rate."""
    assert set(USUAL[scenario]) <= set(gpus())
    if scenario is Scenario.SCIENCE:
        assert set(USUAL[scenario]) <= set(fp64())


def test_a_gpu_that_is_not_enough_says_why(work, gpu, means):
    """The others are still there."""
    quick, slow = for_training(work, 240, [gpus()["h100-sxm-80gb"], gpu], means)

    assert quick.sized is not None
    assert slow.sized is None
    assert "not possible" in slow.why_not


def test_inference_says_what_fits():
    """70 B in bf16 is nothing for a T4."""
    found = for_inference(architecture("llama2-70b"), [gpus()["t4"], gpus()["h100-sxm-80gb"]], 4096)

    assert [each.serving is not None for each in found] == [False, True]
    assert found[0].why_not


def test_science_says_what_it_does_not_know(gpu):
    """No rate, no figure."""
    known, unknown = for_science([gpus()["mi250x"], gpu], fp64())

    assert known.roof.matrix > known.roof.vector
    assert unknown.roof is None
    assert "not in the catalog" in unknown.why_not


def test_prices_side_by_side_are_in_one_currency():
    """One of the user's own in another is refused."""
    mine = replace(price("h100-sxm-80gb", Deal.ON_DEMAND), currency="CNY")
    cards = [gpus()["a100-sxm-80gb"], gpus()["h100-sxm-80gb"]]

    assert currency(for_science(cards, fp64())) == "USD"
    with pytest.raises(WrightError, match="currency-mixed"):
        currency(for_science(cards, fp64(), UserCatalog(prices=(mine,))))
