"""Control group trees of the three kinds of machine."""

from pathlib import Path

import pytest

from clusterwright.lab.cgroups import mounted

V1 = "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
NAMED = "40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime shared:9 - cgroup cgroup rw,name=systemd\n"
V2 = "41 31 0:38 / {} rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"
OTHER = (
    "30 23 0:27 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n36 23 8:1 / /cgroup2 rw - ext4 /dev/sda1 rw\n"
)


@pytest.mark.parametrize(
    ("mountinfo", "trees"),
    [
        (OTHER + V1 + NAMED, ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/systemd"]),
        (OTHER + V2.format("/sys/fs/cgroup"), ["/sys/fs/cgroup"]),
        (V2.format("/sys/fs/cgroup/unified") + OTHER + V1, ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/unified"]),
        (OTHER, []),
    ],
)
def test_every_tree_is_found(mountinfo, trees):
    """v1 has one a controller, v2 one in all, the hybrid both."""
    assert mounted(mountinfo) == tuple(map(Path, trees))
