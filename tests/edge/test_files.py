"""Files of the user's cache."""

import os

import pytest

from clusterwright.edge.files import cache_folder, read_cached, write_file_atomic


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """A file in the cache of a user whose $XDG_CACHE_HOME is a folder of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_file_atomic(cache_folder() / "slurm" / "here.json", "{}", mode=0o600)
    return cache_folder() / "slurm" / "here.json"


def test_the_cache_of_the_user_is_read(cached):
    """Up to its limit of bytes."""
    assert read_cached(cached, 2) == "{}"
    with pytest.raises(OSError, match="bytes"):
        read_cached(cached, 1)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_cache_in_a_folder_of_another_user_is_not_read(cached, tmp_path):
    """As of one who created /tmp/USER first."""
    os.chown(tmp_path / "cache", 12345, 12345)
    with pytest.raises(PermissionError):
        read_cached(cached, 2)


def test_a_cache_that_others_can_write_is_not_read(cached):
    """Each user could have placed the file."""
    cached.parent.chmod(0o777)
    with pytest.raises(PermissionError):
        read_cached(cached, 2)


def test_a_link_or_a_pipe_is_no_cache(cached, tmp_path):
    """Neither is followed or waited for."""
    cached.unlink()
    cached.symlink_to(tmp_path / "other")
    (tmp_path / "other").write_text("{}")
    with pytest.raises(OSError, match="link"):
        read_cached(cached, 2)
    cached.unlink()
    os.mkfifo(cached)
    with pytest.raises(OSError, match="special"):
        read_cached(cached, 2)
