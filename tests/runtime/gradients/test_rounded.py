"""Gradients in 8 bits: each step's is close, and the sum over steps closer still."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from clusterwright.runtime.gradients.mean import _packed, _unpacked

pytestmark = pytest.mark.train
HERE = Path(__file__).parents[1]
INT8 = {"CLUSTERWRIGHT_GRADIENT_COMPRESS": "int8"}


@pytest.mark.parametrize("ranks", [2, 4])
def test_the_mean_is_close_and_the_same_everywhere(added, ranks):
    """Of numbers up to four, twice rounded by 1/127 of the largest at most, and what was left of before."""
    for said in added(ranks=ranks, ADD_STEPS=8, **INT8):
        assert said["alike"]
        assert 1e-4 < max(max(off.values()) for off in said["off"]) < 0.15
        assert said["off_sum"] < 0.05, "what is rounded away comes later"


def test_numbers_that_are_not_finite_are_seen_by_all(added):
    """And the steps after it are good ones."""
    for said in added(ADD_STEPS=6, ADD_BAD=3, **INT8):
        assert said["finite"] == [True, True, True, False, True, True]
        assert max(max(off.values()) for off in said["off"][4:]) < 0.15


def test_a_killed_training_resumes_bit_for_bit(train):
    """What was rounded away is in the checkpoint, each rank's own."""
    toy = {"script": HERE / "toy", **INT8}
    undisturbed = train(name="undisturbed", **toy)
    train(TOY_KILL="1:7", **toy)

    resumed = train(**toy)
    assert resumed.codes == undisturbed.codes == [0, 0], resumed.log
    assert [event["step"] for event in resumed.events("resumed")] == [4]
    assert resumed.losses() == undisturbed.losses()
    assert resumed.weights() == undisturbed.weights()


def test_what_was_rounded_away_is_the_rest():
    """Of zeros nothing; of others at most half a unit of their block."""
    numbers = torch.cat([torch.zeros(256), torch.randn(512, generator=torch.Generator().manual_seed(1))])
    left = numbers.view(-1, 256).clone()
    packed = _packed(left)

    assert (_unpacked(packed).flatten() + left.flatten() - numbers).abs().max() < 1e-6
    assert left.abs().max() <= numbers.abs().max() / 127 / 2 * 1.001
    assert left[0].abs().max() == 0
