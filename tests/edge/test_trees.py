"""Rendered trees on disk."""

import os
from pathlib import Path

import pytest

from clusterwright.edge.trees import MARKER, write_tree
from clusterwright.errors import WrightError


def test_a_tree_is_written_below_its_folder(tmp_path):
    """Host, then path."""
    assert write_tree(tmp_path / "out", {"a": {"/etc/x": "1\n"}, "b": {"/etc/x": "2\n"}}) == 2
    assert (tmp_path / "out/b/etc/x").read_text() == "2\n"


def test_an_earlier_render_is_replaced_as_a_whole(tmp_path):
    """A host that is gone leaves no files."""
    write_tree(tmp_path / "out", {"a": {"/etc/x": "1\n"}})
    write_tree(tmp_path / "out", {"b": {"/etc/x": "2\n"}})

    assert not (tmp_path / "out/a").exists()


def test_somebody_elses_folder_is_refused(tmp_path):
    """And stays as it is."""
    (tmp_path / "mine.txt").write_text("mine")

    with pytest.raises(WrightError, match="contains files that Clusterwright did not write"):
        write_tree(tmp_path, {"a": {"/etc/x": "1\n"}})
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_no_path_leads_out(tmp_path):
    """Even if a role had a bug."""
    with pytest.raises(AssertionError):
        write_tree(tmp_path / "out", {"a": {"/../../x": "1\n"}})
    assert not (tmp_path / "x").exists()


as_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root, to own a folder as another user")
EVE, USERS = 65534, 100
TREE = {"a": {"/etc/x": "1\n"}}


@as_root
def test_a_folder_that_another_user_prepared_is_refused(tmp_path):
    """Its owner could exchange a playbook before it runs."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / MARKER).touch()
    os.chown(tmp_path / "out", EVE, EVE)

    with pytest.raises(WrightError, match="belongs to another user"):
        write_tree(tmp_path / "out", TREE)
    assert [path.name for path in (tmp_path / "out").iterdir()] == [MARKER]


@as_root
@pytest.mark.parametrize("how", ["folder", "link", "link to a link", "folder that is left by .."])
def test_a_folder_below_one_of_another_user_is_refused(tmp_path, how):
    """That user could rename the whole tree, and put another one in its place."""
    eves, own = tmp_path / "eve", tmp_path / "own"
    eves.mkdir()
    own.mkdir()
    (eves / "link").symlink_to(own)
    (tmp_path / "own-link").symlink_to(eves / "link")
    (tmp_path / "eves-link").symlink_to(own)
    for path in (eves, tmp_path / "eves-link", eves / "link"):
        os.chown(path, EVE, EVE, follow_symlinks=False)
    out = {
        "folder": eves / "new/out",
        "link": tmp_path / "eves-link/out",
        "link to a link": tmp_path / "own-link/out",
        "folder that is left by ..": eves / "../own/out",
    }[how]

    with pytest.raises(WrightError, match="belongs to another user"):
        write_tree(out, TREE)
    assert not any(own.iterdir())
    assert [path.name for path in eves.iterdir()] == ["link"]


@as_root
@pytest.mark.parametrize(("mode", "group"), [(0o777, 0), (0o1777, 0), (0o770, EVE), (0o775, USERS)])
def test_a_folder_to_which_others_may_write_is_refused(tmp_path, mode, group):
    """Also with a sticky bit, because the tree itself has none."""
    out = tmp_path / "out"
    out.mkdir()
    os.chown(out, 0, group)
    out.chmod(mode)

    with pytest.raises(WrightError, match="other users may write"):
        write_tree(out, TREE)
    assert not any(out.iterdir())
    if mode != 0o1777:
        with pytest.raises(WrightError, match="other users may write"):
            write_tree(out / "below", TREE)
        assert not any(out.iterdir())


@as_root
def test_a_folder_below_a_shared_folder_with_a_sticky_bit_is_taken(tmp_path):
    """As below /tmp; and one of the owner's own group, or of an administrators' group."""
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o1777)
    staff = tmp_path / "shared/staff"
    staff.mkdir()
    os.chown(staff, 0, 50)
    staff.chmod(0o2775)

    assert write_tree(staff / "new/out", TREE) == 1


@as_root
def test_a_folder_that_another_user_creates_meanwhile_is_refused(tmp_path, monkeypatch):
    """Between the test whether it exists and its creation."""
    make = Path.mkdir

    def eve_first(path, *arguments, **more):
        if path.name == "out":
            os.mkdir(path)
            os.chown(path, EVE, EVE)
        make(path, *arguments, **more)

    monkeypatch.setattr(Path, "mkdir", eve_first)  # there is no seam in a system call

    with pytest.raises(WrightError, match="belongs to another user"):
        write_tree(tmp_path / "out", TREE)
    assert not any((tmp_path / "out").iterdir())


def test_a_folder_is_reached_by_links_of_its_own_user(tmp_path):
    """Relative and absolute ones, and `..`."""
    (tmp_path / "a").mkdir()
    (tmp_path / "one").symlink_to("a/../a")
    (tmp_path / "two").symlink_to(tmp_path / "one")

    assert write_tree(tmp_path / "two/../two/b/out", TREE) == 1
    assert (tmp_path / "a/b/out/a/etc/x").read_text() == "1\n"
