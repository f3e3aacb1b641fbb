"""Values of ranks arrive as they were, and nothing that arrives runs code."""

import dataclasses
import math
import os
import pickle
from collections import OrderedDict, UserDict
from typing import NamedTuple

import pytest

torch = pytest.importorskip("torch")

from clusterwright.runtime.plain_values import decode, encode

pytestmark = pytest.mark.train
COUNT = 100_000


class Pair(NamedTuple):
    """A batch of two."""

    left: object
    right: object


@dataclasses.dataclass
class Sample:
    """A batch of a class of its own."""

    image: object
    label: int


@pytest.mark.parametrize(
    "value",
    [
        None, True, -7, 10**40, 1e-300, "Länge \ud800", b"\0\xff", [], (), {}, {1, 2}, ("a", (1, 2.5), [None]),
        {(0, 1): (12, 13), "a": {}, 3: b""}, {"tensor": ["tensor", "F32", [1]]}, [float("inf"), -0.0],
    ],
)  # fmt: skip
def test_plain_values_arrive_as_they_were(value):
    """With their types."""
    assert repr(decode(encode(value))) == repr(value)


def test_a_number_that_is_none_arrives():
    """A loss that is not finite is reported by its rank."""
    assert math.isnan(decode(encode((1, "the loss", math.nan)))[2])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex128])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_tensors_arrive_with_type_and_shape(dtype, shape):
    """Also slices and empty ones."""
    tensor = torch.ones((*shape, 2)).to(dtype)[..., 0]

    received = decode(encode({"x": tensor}))["x"]
    assert received.dtype == dtype
    assert torch.equal(received, tensor)


def test_objects_become_copies_of_those_of_this_rank():
    """A batch of a data set's own classes; the class is this rank's, the content rank 0's."""
    theirs = [Pair(torch.tensor([1]), 2), Sample(torch.tensor([3]), 4), UserDict(a=5), OrderedDict(b=6)]
    ours = [Pair(torch.tensor([0]), 0), Sample(torch.tensor([0]), 0), UserDict(a=0), OrderedDict(b=0)]

    received = decode(encode(theirs), ours)
    assert received == theirs
    assert [type(item) for item in received] == [type(item) for item in theirs]
    assert ours[1].label == 0


def test_an_array_arrives():
    """Of NumPy, where it is installed."""
    numpy = pytest.importorskip("numpy")

    assert decode(encode([numpy.arange(3.0)]))[0].tolist() == [0, 1, 2]


def test_what_has_no_attributes_is_refused():
    """With what to do."""
    with pytest.raises(TypeError, match="cannot be sent to other ranks; fix"):
        encode([iter(())])


class Program:
    """What a hostile pickle does when Python reads it."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_nothing_that_arrives_is_run(tmp_path, hostile):
    """A pickle, and a hundred thousand damaged values: a value or ValueError, and no more memory than arrived."""
    hostile_pickle = pickle.dumps(Program(str(tmp_path / "made")))
    valid = encode({"a": [1, (2.5, "x")], "t": torch.arange(4), "b": b"1234"})
    refused = 0
    for data in (
        hostile_pickle,
        (len(hostile_pickle)).to_bytes(8, "little") + hostile_pickle,
        *hostile(COUNT, valid),
    ):
        try:
            decode(data, {"a": [1], "t": torch.zeros(1)})
        except ValueError:
            refused += 1

    assert refused > COUNT // 10
    assert not (tmp_path / "made").exists()
