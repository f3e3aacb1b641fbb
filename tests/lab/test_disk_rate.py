"""What the kernel is told of a slow disk, by both kinds of control groups."""

import pytest

from clusterwright.errors import WrightError
from clusterwright.lab import disk_rate
from clusterwright.lab.faults import slow_disk


@pytest.mark.parametrize(
    ("name", "rate", "said"),
    [
        ("blkio.throttle.read_bps_device", 5_000_000, "7:3 5000000"),
        ("blkio.throttle.write_bps_device", 0, "7:3 0"),
        ("io.max", 5_000_000, "7:3 rbps=5000000 wbps=5000000"),
        ("io.max", 0, "7:3 rbps=max wbps=max"),
    ],
)
def test_a_limit_and_none_are_said_in_each_files_own_words(name, rate, said):
    """v1 has a file for each direction, v2 one for both."""
    assert disk_rate.line(name, "7:3", rate) == said


def test_only_a_loop_device_is_held(tmp_path):
    """Never the machine's own disk, which is there when a host's is not mounted."""
    assert disk_rate.device_of(tmp_path) == ""
    assert disk_rate.device_of(tmp_path / "absent") == ""


def test_a_rate_that_is_none_is_refused_with_one_that_is(planned):
    """Before anything is written."""
    with pytest.raises(WrightError, match="--rate 5MB/s"):
        slow_disk.refuse(None, planned.host("gpu-node1"), {"rate": "slowly"})
