"""Key pairs of users on the machine that applies."""

import subprocess

import pytest

from clusterwright.edge.user_keys import user_keys
from clusterwright.errors import WrightError


def test_a_pair_is_made_once_and_fits(tmp_path):
    """The private half is for its owner's eyes; the public half is its own, by ssh-keygen's word."""
    first = user_keys(tmp_path, ["alice", "bob"])
    private = tmp_path / "ssh" / "alice"
    told = subprocess.run(["ssh-keygen", "-y", "-f", private], capture_output=True, text=True, check=True)

    assert user_keys(tmp_path, ["alice", "bob"]) == first
    assert (tmp_path / "ssh").stat().st_mode & 0o777 == 0o700
    assert private.stat().st_mode & 0o777 == 0o600
    assert told.stdout.split()[:2] == first["ssh/alice.pub"].decode().split()[:2]
    assert first["ssh/alice.pub"] != first["ssh/bob.pub"]
    assert sorted(path.name for path in (tmp_path / "ssh").iterdir()) == [
        "alice",
        "alice.pub",
        "bob",
        "bob.pub",
    ]


def test_a_public_half_that_is_lost_is_told_again(tmp_path):
    """A crash between the two halves costs nothing."""
    first = user_keys(tmp_path, ["alice"])
    (tmp_path / "ssh" / "alice.pub").unlink()

    assert user_keys(tmp_path, ["alice"]) == first


def test_a_key_that_others_can_read_is_not_used(tmp_path):
    """It is named, with the fix."""
    user_keys(tmp_path, ["alice"])
    (tmp_path / "ssh" / "alice").chmod(0o644)

    with pytest.raises(WrightError, match="has mode 0644") as caught:
        user_keys(tmp_path, ["alice"])
    assert [found.code for found in caught.value.findings] == ["user-keys"]


def test_a_machine_without_ssh_keygen_says_so(tmp_path, monkeypatch):
    """And what to install."""
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(WrightError, match="ssh-keygen"):
        user_keys(tmp_path, ["alice"])
