"""A user's rows by name."""

from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog.user_catalog import named, slug


@given(st.text(max_size=30))
def test_a_slug_of_a_slug_is_itself(text):
    """So that it does not matter how often it is taken."""
    assert slug(slug(text)) == slug(text)


def test_a_row_is_found_however_its_name_is_written():
    """Case, spaces and dashes do not matter; dots and digits do."""
    rows = {"My GPU_1.5": "a", "other": "b"}

    assert named(rows, "my-gpu-1.5") == "a"
    assert named(rows, "OTHER") == "b"
    assert named(rows, "my-gpu-15") is None
