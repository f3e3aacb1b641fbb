"""Finding what is mounted."""

from clusterwright.lab.down import mount_points

MOUNTINFO = """23 1 254:0 / / rw - ext4 /dev/vda rw
90 23 7:0 / /labs/a/hosts/x/disk rw - ext4 /dev/loop0 rw
91 23 0:50 / /labs/a/hosts/x/root rw - overlay overlay rw
92 91 0:51 / /labs/a/with\\040space rw - tmpfs tmpfs rw
93 23 0:52 / /labs/ab/disk rw - tmpfs tmpfs rw
"""


def test_mounts_of_one_lab_come_newest_first():
    """The overlay goes before the disk that it lies on; a lab whose name begins alike is left alone."""
    assert mount_points(MOUNTINFO, "/labs/a/") == [
        "/labs/a/with space",
        "/labs/a/hosts/x/root",
        "/labs/a/hosts/x/disk",
    ]
