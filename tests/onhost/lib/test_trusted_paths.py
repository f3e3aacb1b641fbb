"""Whether another user could exchange a path: one judgment for exported folders and for what root changes."""

import errno
import os
import stat

import pytest

from clusterwright.onhost.lib.safe_reader import LINKS
from clusterwright.onhost.lib.trusted_paths import (
    FOREIGN,
    SYSTEM_GROUPS,
    WRITABLE,
    exchange_risk,
    resolve_links,
)

NOBODY, USERS = 65534, 100
FOLDER, LINK = stat.S_IFDIR, stat.S_IFLNK


def steps_of(path):
    """Each step of the path as it is visited, and the result."""
    steps = []
    result = resolve_links(str(path), steps.append)
    return [step.path for step in steps if step.path != "/"], [step.is_last for step in steps], result


def test_each_step_is_visited_before_it_is_followed(tmp_path):
    """Also what `..` leaves, and what is behind a link."""
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a/./b")
    paths, last, result = steps_of(tmp_path / "link/../new")

    assert result == f"{tmp_path}/a/new"
    assert [path for path in paths if path.startswith(f"{tmp_path}/")] == [
        f"{tmp_path}/{name}" for name in ("link", "a", "a", "a/b", "a", "a/new")
    ]
    assert last == [*[False] * (len(last) - 1), True]


@pytest.mark.parametrize("target", ["loop", "./loop", "../{}/loop", "{base}/loop"])
def test_a_cycle_of_links_is_an_error(tmp_path, target):
    """As the kernel reports it."""
    (tmp_path / "loop").symlink_to(target.format(tmp_path.name, base=tmp_path))

    with pytest.raises(OSError, match="symbolic links") as raised:
        steps_of(tmp_path / "loop/x")
    assert raised.value.errno == errno.ELOOP


@pytest.mark.parametrize(("links", "is_valid"), [(LINKS, True), (LINKS + 1, False)])
def test_as_many_links_as_in_the_kernel(tmp_path, links, is_valid):
    """A path that the kernel opens is resolved, and no other."""
    for number in range(links):
        (tmp_path / f"{number}").symlink_to(f"{number + 1}")
    (tmp_path / f"{links}").mkdir()
    assert os.path.exists(tmp_path / "0") == is_valid

    if is_valid:
        assert steps_of(tmp_path / "0")[2] == str(tmp_path / f"{links}")
    else:
        with pytest.raises(OSError, match="symbolic links"):
            steps_of(tmp_path / "0")


@pytest.mark.parametrize(
    ("mode", "uid", "gid", "is_last", "risk"),
    [
        (FOLDER | 0o755, 0, 0, True, None),
        (FOLDER | 0o755, NOBODY, 0, False, FOREIGN),
        (FOLDER | 0o1777, 0, 0, False, None),
        (FOLDER | 0o1777, 0, 0, True, WRITABLE),
        (FOLDER | 0o1777, NOBODY, 0, False, FOREIGN),
        (FOLDER | 0o757, 0, 0, False, WRITABLE),
        (FOLDER | 0o775, 0, USERS, False, WRITABLE),
        (FOLDER | 0o775, 0, SYSTEM_GROUPS - 1, False, None),
        (FOLDER | 0o775, 0, 0, True, None),
        (FOLDER | 0o775, 0, 4_000_000, True, WRITABLE),
        (LINK | 0o777, 0, 0, True, None),
        (LINK | 0o777, NOBODY, 0, True, FOREIGN),
    ],
)
def test_who_could_exchange_a_folder_or_a_link(mode, uid, gid, is_last, risk):
    """By its owner, its mode and its group; links have no mode of their own."""
    status = os.stat_result((mode, 0, 0, 0, uid, gid, 0, 0, 0, 0))

    assert exchange_risk(status, {0}, is_last=is_last) == risk
