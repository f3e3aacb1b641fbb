"""Secrets: made once, for their owner alone."""

import pytest

from clusterwright.edge.secrets import first_password, munge_key, state_folder
from clusterwright.errors import WrightError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the state of a cluster lies."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return state_folder("lab")


def test_a_key_is_made_once(folder):
    """1024 bytes that nobody else can read, the same at the next apply, nothing beside it."""
    key = munge_key(folder)

    assert (len(key), munge_key(folder)) == (1024, key)
    assert [(path.name, path.stat().st_mode & 0o777) for path in folder.iterdir()] == [("munge.key", 0o600)]
    assert folder.stat().st_mode & 0o777 == 0o700


def test_two_clusters_have_two_keys(folder, tmp_path):
    """Neither a constant nor a hash of a name."""
    assert munge_key(folder) != munge_key(state_folder("other"))


@pytest.mark.parametrize(("mode", "size"), [(0o644, 1024), (0o600, 12)])
def test_a_key_that_others_read_or_that_was_cut_is_refused(folder, mode, size):
    """Both sides are said."""
    munge_key(folder)
    (folder / "munge.key").write_bytes(b"x" * size)
    (folder / "munge.key").chmod(mode)

    with pytest.raises(WrightError, match=rf"mode {mode:04o} and {size} bytes; expected 0600 and 1024"):
        munge_key(folder)


def test_a_first_password_is_made_once_and_is_its_owners(tmp_path):
    """Long enough that nobody guesses it, another for each cluster."""
    once = first_password(tmp_path, "grafana.password")
    assert first_password(tmp_path, "grafana.password") == once
    assert len(once) >= 32
    assert (tmp_path / "grafana.password").stat().st_mode & 0o777 == 0o600
    other = tmp_path / "other"
    other.mkdir()
    assert first_password(other, "grafana.password") != once
