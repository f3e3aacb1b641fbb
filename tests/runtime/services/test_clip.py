"""Clipping is torch's, where torch's can be used, and right where it cannot."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from clusterwright.runtime.services.clip import clip

pytestmark = pytest.mark.train


def parameters(sizes, scale):
    made = [torch.nn.Parameter(torch.zeros(size)) for size in sizes]
    for place, each in enumerate(made):
        each.grad = scale * torch.sin(torch.arange(each.numel()) + place + 1.0)
    return made


@settings(deadline=None)  # torch's own function imports torch._dynamo when it is first called
@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=5),
    st.sampled_from([1e-3, 1.0, 1e3]),
    st.floats(0.1, 10),
)
def test_plain_gradients_are_clipped_as_torch_does(sizes, scale, largest):
    """The norm, and every number."""
    ours, theirs = parameters(sizes, scale), parameters(sizes, scale)

    assert clip(ours, largest) == pytest.approx(
        float(torch.nn.utils.clip_grad_norm_(theirs, largest)), rel=1e-5
    )
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine.grad, other.grad)


def test_gradients_of_all_kinds_and_meshes_are_clipped_together(train):
    """Four ranks, two shards by two tensor ranks: each number counts once, and all ranks have the same norm."""
    trained = train(ranks=4, script="clipped")
    assert trained.codes == [0] * 4, trained.log

    said = [json.loads(line) for line in trained.log.splitlines() if line.startswith("{")]
    assert len(said) == 4
    assert len({each["norm"] for each in said}) == 1
    assert said[0]["norm"] == pytest.approx(said[0]["expected"], rel=1e-5)
    assert all(all(each["close"]) for each in said)


def test_without_gradients_the_norm_is_nothing():
    """A stage may be frozen."""
    assert clip([torch.nn.Parameter(torch.ones(2))], 1.0) == 0


def test_a_norm_that_is_not_finite_is_returned():
    """`run.finite` decides about it."""
    (one,) = parameters([3], 1.0)
    one.grad[1] = float("inf")

    assert clip([one], 1.0).isinf()
