"""A batch in pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from clusterwright.runtime import group
from clusterwright.runtime.services.accumulate import pieces

pytestmark = pytest.mark.train


@given(
    st.integers(1, 20), st.integers(1, 25), st.sampled_from(["tensor", "numbers", "tuple", "dict", "list"])
)
def test_pieces_hold_each_sample_once_and_in_order(size, micro, form):
    """In whatever form the batch comes, the pieces have the same."""
    samples = torch.arange(size)
    batch = {
        "tensor": samples, "numbers": samples.tolist(), "tuple": (samples, samples + 100),
        "dict": {"x": samples, "y": samples + 100}, "list": [samples, samples + 100],
    }[form]  # fmt: skip
    found = list(pieces(batch, micro))
    pick = {"dict": lambda each: each["x"], "tuple": lambda each: each[0], "list": lambda each: each[0]}
    firsts = [pick.get(form, lambda each: each)(each) for each in found]

    assert [int(number) for piece in firsts for number in piece] == samples.tolist()
    assert all(len(piece) == micro for piece in firsts[:-1])
    assert {type(each) for each in found} == {type(batch)}


@pytest.mark.parametrize(("batch", "micro"), [([], 4), (torch.empty(0, 3), 4), ([1, 2], 0)])
def test_a_rank_without_a_sample_is_refused(batch, micro):
    """The others would wait for its gradients."""
    with pytest.raises(ValueError, match="must be at least 1 on each rank"):
        next(pieces(batch, micro))


def test_gradients_travel_with_the_last_piece_alone():
    """Also after a loop that was left early, everything is as before."""
    alone = group.join({})
    try:
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
        sent = [model.require_backward_grad_sync for _ in pieces(torch.ones(5, 1), 2, model)]
        assert sent == [False, False, True]

        for _ in pieces(torch.ones(5, 1), 2, model):
            break
        assert model.require_backward_grad_sync
    finally:
        alone.destroy()


def test_a_sharded_model_is_told_by_its_own_name_for_it():
    """`fully_shard` gives a model this method."""
    told = []

    class Sharded(torch.nn.Linear):
        def set_requires_gradient_sync(self, now):
            told.append(now)

    list(pieces([1, 2, 3], 2, Sharded(1, 1)))
    assert told == [False, True, True]
