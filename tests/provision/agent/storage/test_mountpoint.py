"""Where something is to be mounted: what lies there is named, and never hidden."""

import os

import pytest

from clusterwright.onhost.provision.host import ChangeError, LocalHost
from clusterwright.onhost.provision.storage.mountpoint import check_mountpoint, mounted_at, version_of

WANTED = {
    "path": "/shared", "source": "control:/srv/shared", "type": "nfs4",
    "unit": "/etc/systemd/system/shared.mount", "kernels": {},
}  # fmt: skip


@pytest.fixture
def host(tmp_path):
    """A host below a folder, with a table of mounts."""

    def make(table=""):
        (tmp_path / "proc/self").mkdir(parents=True, exist_ok=True)
        (tmp_path / "proc/self/mounts").write_text(table)
        return LocalHost({"root": str(tmp_path), "resources": []})

    return make


def test_an_empty_folder_and_none_are_fine(host, tmp_path):
    """The mount makes the folder."""
    assert check_mountpoint(host(), WANTED) is None
    (tmp_path / "shared").mkdir()
    assert check_mountpoint(host(), WANTED) is None


def test_files_that_a_mount_would_hide_are_named(host, tmp_path):
    """Such as checkpoints that were written while nothing was mounted; it is this host's own trouble."""
    (tmp_path / "shared/runs").mkdir(parents=True)
    for number in range(7):
        (tmp_path / f"shared/file{number}").touch()
    with pytest.raises(
        ChangeError, match=r"/shared is not mounted and holds file0, .* and 3 more: .*Move them"
    ) as why:
        check_mountpoint(host(), WANTED)

    assert why.value.fault_domain == "host"


def test_what_somebody_else_has_mounted_there_is_named(host):
    """Another server, another kind; with what to take away."""
    for table in ("old:/export /shared nfs4 rw 0 0\n", "/dev/sdb1 /shared ext4 rw 0 0\n"):
        with pytest.raises(ChangeError, match=r"is mounted on /shared already.*/etc/fstab"):
            check_mountpoint(host(table), WANTED)


def test_the_same_mount_by_hand_is_taken_over(host):
    """A site that had it in fstab before."""
    for kind in ("nfs4", "fuse.nfs4"):
        one = host(f"control:/srv/shared /shared {kind} rw 0 0\n")
        assert check_mountpoint(one, WANTED) is None
        assert one.notes == []


def test_our_own_mount_is_never_in_the_way(host, tmp_path):
    """Its unit file is there: another source remounts."""
    (tmp_path / "etc/systemd/system").mkdir(parents=True)
    (tmp_path / "etc/systemd/system/shared.mount").touch()
    assert check_mountpoint(host("old:/export /shared nfs4 rw 0 0\n"), WANTED) is None


def test_of_two_mounts_on_one_path_the_last_is_seen(host):
    """As the kernel shows them; a path may have a space."""
    table = "a:/x /shared nfs4 rw 0 0\nb:/y /shared nfs4 rw 0 0\n/dev/sda /my\\040disk ext4 rw 0 0\n"

    assert mounted_at(host(table), "/shared") == ("b:/y", "nfs4")
    assert mounted_at(host(table), "/my disk") == ("/dev/sda", "ext4")
    assert mounted_at(host(table), "/other") is None


def test_an_option_that_the_kernel_does_not_know_is_a_note(host, monkeypatch):
    """Linux 5.3 brought nconnect."""
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "h", "4.19.0-27-amd64", "", "x86_64")))
    old = host()
    check_mountpoint(old, WANTED | {"kernels": {"nconnect": "5.3"}})

    assert "Linux 4.19.0-27-amd64 does not support nconnect (since 5.3)" in old.notes[0]
    assert version_of("5.10.0-28") > version_of("5.3")
