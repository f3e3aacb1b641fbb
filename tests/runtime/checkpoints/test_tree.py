"""States are taken apart and come together again."""

import pickle
from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from clusterwright.runtime.checkpoints import memory, tree
from clusterwright.runtime.checkpoints.source import Damaged

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
    rest = tree.unpack(tree.pack(tree.flatten({"state": value}, "", tensors)))

    assert repr(tree.unflatten(rest, tensors)) == repr({"state": value})


def test_names_are_paths():
    """What a person reads in the file."""
    tensors = {}
    tree.flatten(
        {"model": {"0.weight": torch.ones(1)}, "optimizer": {"state": [{"step": torch.ones(1)}]}}, "", tensors
    )

    assert list(tensors) == ["model/0.weight", "optimizer/state/0/step"]


def test_sparse_tensors_stay_in_the_rest():
    """They have no bytes in a row."""
    sparse, tensors = torch.eye(3).to_sparse(), {}
    rest = tree.unpack(tree.pack(tree.flatten({"x": sparse}, "", tensors)))

    assert not tensors
    assert torch.equal(rest["x"].to_dense(), torch.eye(3))


def test_a_tensor_of_an_older_kind_of_sharding_is_refused_by_name():
    """Rather than saved as if this rank had all of it."""

    class Sharded(torch.Tensor):
        def local_shards(self):
            return []

    with pytest.raises(TypeError, match="model/weight is a ShardedTensor"):
        tree.flatten({"model": {"weight": torch.ones(2).as_subclass(Sharded)}}, "", {})


def test_tied_weights_are_taken_once_and_stay_tied():
    """Two names of one tensor; a transposed view of it, or half of it, is another."""
    weight, tensors = torch.randn(4, 4), {}
    state = {
        "in": weight,
        "out": weight.detach(),
        "turned": weight.t(),
        "half": weight[:2],
        "empty": weight[:0],
    }
    rest = tree.flatten(state, "", tensors)

    assert list(tensors) == ["in", "turned", "half", "empty"]
    found = tree.unflatten(tree.unpack(tree.pack(rest)), tensors)
    assert found["in"] is found["out"]
    assert {name: tuple(value.shape) for name, value in found.items()} == tree.shapes(state)


def test_names_of_what_else_lies_in_a_part_are_not_taken():
    """A state may have a tensor called `tree`."""
    tensors = {}
    rest = tree.flatten({"tree": torch.ones(1), "rank": torch.zeros(1)}, "", tensors)

    assert list(tensors) == ["tree'", "rank'"]
    assert tree.unflatten(rest, tensors) == {"tree": torch.ones(1), "rank": torch.zeros(1)}


def test_packed_sizes_hardly_ever_change():
    """So that the layout of a part need not be worked out again."""
    assert (
        len({tree.pack({"step": step, "name": "x" * (step % 7)}).numel() for step in range(0, 70_000, 997)})
        == 1
    )


@pytest.mark.parametrize("value", [object(), {"x": {1, object()}}, [print], {"x": (1, object())}])
def test_what_only_code_could_load_is_refused(value):
    """Wherever in the state it is."""
    with pytest.raises(Exception, match="weights_only"):
        tree.pack(value)


def test_tensors_in_what_is_packed_come_back_bit_for_bit():
    """Random states hold some; also empty ones, scalars, views, and those that torch alone can pack."""
    base = torch.randn(6, 4)
    value = {
        "a": base.t(),
        "b": base[1:2],
        "c": base[:0],
        "d": torch.tensor(True),
        "e": base.bfloat16(),
        "f": [base],
    }

    found = tree.unpack(tree.pack(value))
    assert repr(found) == repr(value)
    assert {name: each.dtype for name, each in found.items() if name != "f"} == {
        name: each.dtype for name, each in value.items() if name != "f"
    }
    assert torch.equal(tree.unpack(tree.pack({"s": torch.eye(2).to_sparse()}))["s"].to_dense(), torch.eye(2))


def test_a_pack_with_a_class_in_it_is_damage():
    """Whoever put it there."""
    data = b"P" + pickle.dumps({"x": OrderedDict()}, protocol=4)
    packed = memory.tensor(len(data).to_bytes(8, "little") + data)

    with pytest.raises(Damaged, match=r"unexpected .*OrderedDict in a checkpoint"):
        tree.unpack(packed)
