"""Limits that all hosts share."""

import ctypes
import os
from pathlib import Path

from clusterwright.lab.up import inotify_in_use, inotify_limit, is_inotify, judge_inotify


def test_hosts_that_fit_are_no_finding():
    """Up to the last instance."""
    assert judge_inotify(5, used=103, limit=128) == ()


def test_hosts_that_do_not_fit_are_told_with_the_setting():
    """Both sides of the sum, and the command."""
    (found,) = judge_inotify(5, used=104, limit=128)

    assert found.code == "lab-inotify"
    assert "5 hosts need 25 inotify instances; 104 are in use, and the limit for root is 128" in found.message
    assert "sysctl fs.inotify.max_user_instances=1024" in found.fix


def test_an_instance_is_told_from_other_handles():
    """One that this very process opens."""
    handle = ctypes.CDLL(None).inotify_init()
    try:
        assert is_inotify(Path(f"/proc/self/fd/{handle}"))
        assert not is_inotify(Path("/proc/self/fd/0"))
        assert not is_inotify(Path("/proc/self/fd/99999"))
        assert os.geteuid() != 0 or inotify_in_use() > 0
    finally:
        os.close(handle)
    assert inotify_limit() > 0
