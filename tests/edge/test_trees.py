"""Rendered trees on disk."""

import os

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

    with pytest.raises(WrightError, match="contains files that `wright render` did not write"):
        write_tree(tmp_path, {"a": {"/etc/x": "1\n"}})
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_no_path_leads_out(tmp_path):
    """Even if a role had a bug."""
    with pytest.raises(AssertionError):
        write_tree(tmp_path / "out", {"a": {"/../../x": "1\n"}})
    assert not (tmp_path / "x").exists()


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to own a folder as another user")
def test_a_folder_that_another_user_prepared_is_refused(tmp_path):
    """Its owner could exchange a playbook before it runs."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / MARKER).touch()
    os.chown(tmp_path / "out", 65534, 65534)

    with pytest.raises(WrightError, match="belongs to another user"):
        write_tree(tmp_path / "out", {"a": {"/etc/x": "1\n"}})
    assert [path.name for path in (tmp_path / "out").iterdir()] == [MARKER]
