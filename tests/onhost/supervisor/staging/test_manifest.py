"""The manifest of a folder, and its comparison with a folder of another user."""

import os
import tracemalloc

import pytest

from clusterwright.onhost.supervisor.staging.manifest import is_equal, manifest_of

MANY = 20_000


@pytest.fixture
def source(tmp_path):
    """Two files, one in a folder, and a link."""
    (tmp_path / "source" / "a").mkdir(parents=True)
    for name in ("a/one", "two"):
        (tmp_path / "source" / name).write_text(name)
    (tmp_path / "source" / "link").symlink_to("two")
    return tmp_path / "source"


def test_a_folder_equals_its_own_manifest(source):
    """Until a file, a link or a folder is another one, missing or added."""
    manifest = manifest_of(str(source))
    assert is_equal(manifest, str(source))

    for path in ("more", "a/more"):
        (source / path).touch()
        assert not is_equal(manifest, str(source))
        (source / path).unlink()
    (source / "link").unlink()
    assert not is_equal(manifest, str(source))


def test_pipes_are_no_data(source):
    """They are not copied, and hide nothing that was added beside them."""
    manifest = manifest_of(str(source))
    for number in range(5):
        os.mkfifo(source / f"0-pipe-{number}")

    assert manifest_of(str(source)).files == manifest.files
    assert is_equal(manifest, str(source))
    (source / "zzz").touch()
    assert not is_equal(manifest, str(source))


@pytest.mark.parametrize("below", ["", "a"])
def test_many_names_in_a_folder_cost_no_more_than_the_manifest(source, below):
    """Links to one file cost its owner no room, and the reader's job may not end for lack of memory."""
    manifest = manifest_of(str(source))
    (source / below / "name-0").touch()
    for number in range(1, MANY):
        os.link(source / below / "name-0", source / below / f"name-{number}")
    tracemalloc.start()
    try:
        assert not is_equal(manifest, str(source))
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
