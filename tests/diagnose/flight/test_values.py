"""A pickle gives its plain values, and nothing in it is ever run."""

import os
import pickle
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.diagnose.flight.values import values

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.tuples(inner)
        | st.tuples(inner, inner)
        | st.tuples(inner, inner, inner, inner)
    ),
    max_leaves=30,
)


@given(PLAIN, st.integers(2, pickle.HIGHEST_PROTOCOL))
def test_plain_values_come_back(value, protocol):
    """Whatever form of pickle they were written in."""
    assert values(pickle.dumps(value, protocol)) == value


@given(st.binary())
def test_any_bytes_give_values_or_an_error_that_is_caught(data):
    """Never another error, and no value that is not plain."""
    found = None
    with suppress(ValueError):
        found = values(b"\x80\x02" + data)
    assert found is None or isinstance(found, bool | int | float | str | list | tuple | dict)


class Program:
    """What a hostile pickle does when Python reads it."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_program_in_it_is_not_run(tmp_path, protocol):
    """It is refused, and has done nothing."""
    data = pickle.dumps({"entries": [Program(str(tmp_path / "made"))]}, protocol)

    with pytest.raises(ValueError, match="not of plain values"):
        values(data)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x02X\xff\xff\xff\xff",  # a text of 4 GB that is not there
        b"\x80\x02]r\xff\xff\xff\xff.",  # a place of 4 billion, for which Python's own reader takes memory
        b"\x80\x02\x8b\xff\xff\xff\x7f",  # a number of 2 GB
    ],
)
def test_memory_is_not_taken_for_what_the_file_does_not_hold(data):
    """Within what the test's own process uses."""
    with suppress(ValueError):
        assert values(data) == []
