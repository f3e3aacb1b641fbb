"""RAID levels."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from clusterwright.errors import WrightError
from clusterwright.plan.storage import Disk, array, best_level


@pytest.mark.parametrize(
    ("level", "disks", "usable", "survives", "writes"),
    [("0", 4, 4, 0, 4), ("1", 2, 1, 1, 1), ("10", 8, 4, 1, 4), ("5", 4, 3, 1, 1), ("6", 12, 10, 2, 2)],
)
def test_what_a_level_leaves(level, disks, usable, survives, writes):
    """Usable disks, failures survived and small writes, in disks."""
    made = array(level, disks, Disk(1.0, 1.0, 1.0, 1.0, 1.0))

    assert (made.usable_bytes, made.survives, made.write_iops) == (usable, survives, writes)


@given(some.integers(3, 40).map(lambda half: 2 * half))
def test_the_guides_levels_come_out(disks):
    """RAID 10 for metadata, RAID 0 for scratch, RAID 6 for capacity, of six disks or more."""
    levels = [best_level(use, disks).level for use in ("metadata", "scratch", "capacity")]

    assert levels == ["10", "0", "6"]


@given(some.sampled_from(["0", "10", "5", "6"]), some.integers(2, 20).map(lambda half: 2 * half))
def test_no_level_makes_space(level, disks):
    """Usable space and what is spent on surviving add up to at most the disks."""
    made = array(level, disks)

    assert made.usable_bytes + made.survives * Disk().size_bytes <= disks * Disk().size_bytes


def test_a_rebuild_writes_a_whole_disk():
    """3.84 TB at 3.5 GB/s: 18 minutes; RAID 0 has nothing to rebuild from."""
    assert array("6", 8).rebuild_s == pytest.approx(1097, abs=1)
    assert array("0", 8).rebuild_s == 0


@pytest.mark.parametrize(("level", "disks"), [("10", 5), ("6", 3), ("1", 3), ("7", 8), ("0", 0)])
def test_arrays_that_cannot_be_made_are_refused(level, disks):
    """storage-raid, with what to take."""
    with pytest.raises(WrightError) as caught:
        array(level, disks)

    assert caught.value.findings[0].code == "storage-raid"


def test_an_unknown_use_is_refused():
    """Uses are metadata, scratch and capacity."""
    with pytest.raises(WrightError, match="unknown use"):
        best_level("swap", 8)
