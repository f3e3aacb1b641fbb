"""Sums over the bits of tensors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from clusterwright.runtime.services import verify

pytestmark = pytest.mark.train
DTYPES = [
    torch.float32,
    torch.bfloat16,
    torch.float16,
    torch.float64,
    torch.int64,
    torch.uint8,
    torch.complex128,
]


@given(st.sampled_from(DTYPES), st.integers(1, 40), st.data())
def test_one_flipped_bit_anywhere_changes_the_sum(dtype, size, data):
    """Of any dtype and any length, as a view or not."""
    tensor = torch.arange(2 * size).to(dtype)[:: data.draw(st.sampled_from([1, 2]))]
    before = verify.total([torch.ones(3), tensor])
    place, bit = data.draw(st.integers(0, len(tensor) - 1)), data.draw(st.integers(0, 7))
    one = tensor[place].clone().repeat(1)
    one.view(torch.uint8)[data.draw(st.integers(0, one.nbytes - 1))] ^= 1 << bit
    tensor[place : place + 1] = one

    assert verify.total([torch.ones(3), tensor]) != before


def test_two_tensors_that_have_changed_places_change_the_sum():
    """Each has a weight of its own."""
    left, right = torch.arange(8.0), torch.ones(8)

    assert verify.total([left, right]) != verify.total([right, left])


def test_nothing_is_zero():
    """A rank may hold no part of anything."""
    assert verify.total([]) == 0
