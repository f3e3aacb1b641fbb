"""Which numbers of a check's file are told, and with which words."""

from clusterwright.check.reference import thresholds

FILE = """
from units import GB

_SHARE = 0.10  # somebody: less than that
_WANT = "a text"  # is no number
_QUIET = 3
_LONG = (
    20 * GB
)  # ours: enough
# Anybody says so,
# for reasons.
_MANY = 20_000_000


def judge():
    inside = 5  # is no constant
"""


def test_a_number_is_told_as_it_is_written_with_its_comment():
    """Beside it, at the end of several lines, or above it."""
    assert list(thresholds(FILE)) == [
        ("0.10", "somebody: less than that"),
        ("20 * GB", "ours: enough"),
        ("20_000_000", "Anybody says so, for reasons."),
    ]
