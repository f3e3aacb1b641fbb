"""States are taken apart and come together again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from clusterwright.train.runtime import tree  # noqa: E402 (torch may be missing)

pytestmark = pytest.mark.train

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
KEYS = st.integers(0, 3) | st.sampled_from(["a", "0", "a/b", "'"])
TREES = st.recursive(
    PLAIN | st.integers(0, 9).map(torch.tensor),
    lambda inner: (
        st.dictionaries(KEYS, inner, max_size=4) | st.lists(inner, max_size=3) | st.tuples(inner, inner)
    ),
    max_leaves=12,
)


@given(TREES)
def test_together_undoes_apart(value):
    """For any nesting, also with the keys 0 and "0" side by side, through bytes and back."""
    tensors = {}
    rest = tree.unpack(tree.pack(tree.apart({"state": value}, "", tensors)))

    assert repr(tree.together(rest, tensors)) == repr({"state": value})


def test_names_are_paths():
    """What a person reads in the file."""
    tensors = {}
    tree.apart(
        {"model": {"0.weight": torch.ones(1)}, "optimizer": {"state": [{"step": torch.ones(1)}]}}, "", tensors
    )

    assert list(tensors) == ["model/0.weight", "optimizer/state/0/step"]


def test_sparse_tensors_stay_in_the_rest():
    """They have no bytes in a row."""
    sparse, tensors = torch.eye(3).to_sparse(), {}
    rest = tree.unpack(tree.pack(tree.apart({"x": sparse}, "", tensors)))

    assert not tensors
    assert torch.equal(rest["x"].to_dense(), torch.eye(3))


def test_a_sharded_tensor_is_refused_by_name():
    """Rather than saved as if this rank had all of it."""

    class Sharded(torch.Tensor):
        def to_local(self):
            return self

    with pytest.raises(TypeError, match="model/weight is a DTensor"):
        tree.apart({"model": {"weight": torch.ones(2).as_subclass(Sharded)}}, "", {})
