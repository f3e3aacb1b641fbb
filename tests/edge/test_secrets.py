"""Secrets: made once, for their owner alone."""

import os

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


MALLORY = 64001
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives folders to another user")


@needs_root
@pytest.mark.parametrize("variable", ["XDG_STATE_HOME", "HOME"])
@pytest.mark.parametrize("is_link", [False, True])
def test_root_stores_no_secret_where_another_user_could_exchange_it(tmp_path, monkeypatch, variable, is_link):
    """That user would know the key of every host. Nothing is created there."""
    mallory = tmp_path / "mallory"
    mallory.mkdir()
    if is_link:
        (tmp_path / "own").mkdir()
        mallory.rmdir()
        mallory.symlink_to("own")
    os.lchown(mallory, MALLORY, MALLORY)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv(variable, str(mallory))

    with pytest.raises(WrightError, match="state-exchangeable") as refused:
        state_folder("lab")
    assert str(mallory) in str(refused.value)
    assert list(mallory.iterdir()) == []


@needs_root
def test_the_home_of_the_user_who_called_sudo_holds_secrets(tmp_path, monkeypatch):
    """Some configurations of sudo keep HOME."""
    os.chown(tmp_path, MALLORY, MALLORY)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("SUDO_UID", str(MALLORY))

    assert len(munge_key(state_folder("lab"))) == 1024


@needs_root
def test_a_key_of_another_user_is_not_used(folder):
    """Also if nobody else can read it: its owner can."""
    munge_key(folder)
    os.chown(folder / "munge.key", MALLORY, MALLORY)

    with pytest.raises(WrightError, match=f"belongs to user {MALLORY}"):
        munge_key(folder)
