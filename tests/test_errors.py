"""Errors say what, where and the fix."""

from hypothesis import given
from hypothesis import strategies as st

from clusterwright.errors import EXIT_FAILED, EXIT_USAGE, Finding, Location, SpecError, WrightError

LONG = "x" * 70 + "here" + "y" * 70


def test_a_finding_shows_both_sides_and_a_caret():
    """Each place has its line, with a caret under the column."""
    one = Location("cluster.yaml", 31, 10, "partitions.train.gpus_per_node", "8", "    gpus: 8")
    other = Location("cluster.yaml", 7, None, "nodes.a100")

    assert str(Finding("gres-mismatch", "8 is more than 4", "set it to 4", (one, other))) == (
        "error[gres-mismatch]: 8 is more than 4\n"
        "  cluster.yaml:31:10  partitions.train.gpus_per_node: 8\n"
        "    31 |     gpus: 8\n"
        "       |          ^\n"
        "  cluster.yaml:7  nodes.a100\n"
        "fix: set it to 4\n"
        "more: wright explain gres-mismatch"
    )


def test_a_long_line_is_cut_around_the_caret():
    """The caret stands under the spot, whatever of the line is shown."""
    line, caret = Location("f", 1, 71, source=LONG).excerpt()

    assert line[caret.index("^") :].startswith("here")
    assert len(line) < 110


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1, max_size=300), st.data())
def test_the_caret_is_under_its_character(source, data):
    """For any line and column of it."""
    column = data.draw(st.integers(1, len(source)))
    excerpt = Location("f", 1, column, source=source).excerpt()
    if source[column - 1] != " ":
        line, caret = excerpt

        assert line[caret.index("^")] == source[column - 1]


def test_no_source_no_excerpt():
    """A place without a line of the file shows none."""
    assert Location("f", 1, 1).excerpt() == ()
    assert Location("f", None, None, source="x").excerpt() == ()


def test_exit_codes():
    """What a user can fix fails with 1, a spec that cannot be used with 2."""
    assert WrightError.from_code("code", "what", "fix").exit_code == EXIT_FAILED
    assert SpecError(Finding("code", "what", "fix")).exit_code == EXIT_USAGE
    assert WrightError.from_code("code", "what", "fix", exit_code=5).exit_code == 5
