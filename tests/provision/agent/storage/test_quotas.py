"""Quotas: wanted limits against those of repquota, set by setquota; repquota's words are written by hand here.

The form is that of quota 4.06; the kernel that these tests ran on has no quotas.
"""

import pytest

from clusterwright.onhost.lib.processes import Result
from clusterwright.onhost.provision.host import ChangeError
from clusterwright.onhost.provision.storage import quotas

USERS = """*** Report for user quotas on device /dev/md127
Block grace time: 7days; Inode grace time: 7days
                        Block limits                File limits
User            used    soft    hard  grace    used  soft  hard  grace
----------------------------------------------------------------------
root      --       0       0       0              3     0     0
alice     --    2048       0  976562              4     0     0
bob       +-  980000       0  976562   none        9     0     0


"""
TEAMS = USERS.replace("user quotas", "group quotas").replace("alice", "vision").replace("bob  ", "other")
ROWS = [
    {"kind": "user", "name": "alice", "path": "/scratch", "bytes": "1000000000"},
    {"kind": "user", "name": "carol", "path": "/scratch", "bytes": "1000000000"},
    {"kind": "team", "name": "vision", "path": "/scratch", "bytes": "2000000000"},
]


@pytest.fixture
def kernel(monkeypatch):
    """`kernel(works)`: repquota answers with what was written down here; what setquota is told is kept."""

    def make(works=True):
        told = []

        def run(argv, *_):
            text = (USERS if argv[1] == "-u" else TEAMS) if works else "repquota: Mountpoint not found"
            return Result(0 if works else 1, text, "")

        monkeypatch.setattr(quotas, "run", run)
        monkeypatch.setattr(quotas, "must", lambda argv: told.append(" ".join(argv)))
        return told

    return make


def test_limits_that_differ_are_changes(kernel):
    """Who is as wanted is none; who is not listed has none yet."""
    kernel()

    assert [change["summary"] for change in quotas.plan_rows(ROWS)] == [
        "/scratch: quota of user carol none -> 976562 KiB",
        "/scratch: quota of team vision 976562 -> 1953125 KiB",
    ]


def test_only_what_differs_is_set(kernel):
    """A hard limit in blocks of 1 KiB, none of files."""
    told = kernel()
    quotas.do(ROWS)

    assert told == [
        "setquota -u carol 0 976562 0 0 /scratch",
        "setquota -g vision 0 1953125 0 0 /scratch",
    ]


def test_a_file_system_that_is_not_mounted_yet_is_one_change(kernel):
    """It comes with the same apply."""
    kernel(works=False)

    assert [change["summary"] for change in quotas.plan_rows(ROWS)] == ["set quotas on /scratch (limits: 3)"]


def test_a_file_system_that_counts_for_nobody_is_named(kernel):
    """With what shows why."""
    kernel(works=False)
    with pytest.raises(ChangeError, match=r"/scratch has no quotas.*quotaon -p /scratch"):
        quotas.do(ROWS)


def test_one_over_its_limit_is_read_like_the_others():
    """A grace has a word of its own, and only for who is over."""
    assert quotas.hard_limits(USERS) == {"root": 0, "alice": 976562, "bob": 976562}
