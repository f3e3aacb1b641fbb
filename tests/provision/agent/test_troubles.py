"""Whose fault a failure is, on file systems that are really full or read-only."""

import errno
import grp
import os
import pwd
import subprocess

import pytest

from clusterwright.onhost.provision import agent, troubles
from clusterwright.onhost.provision.host import ChangeError, LocalHost
from clusterwright.platforms import names_by_os_release
from clusterwright.provision.bundle import _resource_fields
from clusterwright.provision.resources import File

ME = {"owner": pwd.getpwuid(os.getuid()).pw_name, "group": grp.getgrgid(os.getgid()).gr_name}
ROOT = pytest.mark.skipif(os.getuid() != 0, reason="only root mounts")


def order(root, mode="apply", **other):
    """One file of ours."""
    resources = [_resource_fields(File(path="/etc/app.conf", content="x" * 5000, **ME))]
    wanted = {
        "mode": mode,
        "root": str(root),
        "source": "c",
        "when": "1",
        "expect": "",
        "resources": resources,
    }
    return wanted | other


@pytest.fixture
def small(tmp_path):
    """A file system of 128 KiB, mounted."""
    root = tmp_path / "small"
    root.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(root)], check=True)
    yield root
    subprocess.run(["umount", str(root)], check=True)


@ROOT
def test_a_full_disk_is_the_hosts_own_trouble(small):
    """Named with the fix; nothing half-written is left, and with room again the same apply goes through."""
    with pytest.raises(OSError, match="No space"):
        (small / "filler").write_bytes(bytes(2**18))
    answer = agent.run_bundle(order(small))
    (small / "filler").unlink()
    again = agent.run_bundle(order(small))

    assert "the disk is full" in answer["error"]
    assert "df -h" in answer["error"]
    assert (answer["fault_domain"], again["error"]) == ("host", "")
    assert sorted(path.name for path in (small / "etc").iterdir()) == ["app.conf"]


@ROOT
def test_a_disk_that_fills_in_the_middle_leaves_the_old_file(small):
    """There is room for the journal and none for the file."""
    agent.run_bundle(order(small))
    os.posix_fallocate(handle := os.open(small / "filler", os.O_RDWR | os.O_CREAT), 0, 76 * 1024)
    os.close(handle)
    bigger = [_resource_fields(File(path="/etc/app.conf", content="y" * 60_000, **ME))]
    answer = agent.run_bundle(order(small, resources=bigger, when="2"))

    assert ("full" in answer["error"], answer["fault_domain"]) == (True, "host")
    assert (small / "etc/app.conf").read_text() == "x" * 5000
    assert sorted(path.name for path in (small / "etc").iterdir()) == ["app.conf"]


@ROOT
def test_a_read_only_disk_is_named(small):
    """Looking still works; changing says what is wrong and where to look."""
    (small / "etc").mkdir()
    subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
    seen, answer = agent.run_bundle(order(small, "check")), agent.run_bundle(order(small))

    assert (seen["error"], len(seen["changes"])) == ("", 1)
    assert "Read-only file system" in answer["error"]
    assert "dmesg" in answer["error"]
    assert answer["fault_domain"] == "host"


def test_a_refused_change_is_the_changes_fault(tmp_path):
    """The next host would refuse it too."""
    refused = [
        _resource_fields(File(path="/etc/a", content="x", validate=("sh", "-c", "exit 3", "{}"), **ME))
    ]

    assert agent.run_bundle(order(tmp_path, resources=refused))["fault_domain"] == "change"


@pytest.mark.parametrize(
    ("reason", "blame"),
    [
        (
            ChangeError(
                "`apt-get install` ended with 100:\nE: Could not get lock /var/lib/dpkg/lock-frontend"
            ),
            "host",
        ),
        (ChangeError("it has id 7 here, 6 in the file", fault_domain="host"), "host"),
        (ChangeError("slurmd.service is failed after its start"), "change"),
        (OSError(errno.EIO, "Input/output error"), "host"),
    ],
)
def test_words_tell_whose_fault_it_is(tmp_path, reason, blame):
    """A package lock is one host's; a daemon that does not come up is the change's."""
    assert troubles.explain_error(LocalHost(order(tmp_path)), reason)[1] == blame


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('ID=debian\nVERSION_ID="12"\n', "debian-12"),
        ('NAME="Ubuntu"\nVERSION_ID="22.04"\nID=ubuntu\nID_LIKE=debian\n', "ubuntu-22.04"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\n', "rocky-9"),
        ('ID="almalinux"\nVERSION_ID="8.10"\n', "alma-8"),
        ("ID=arch\n", "arch"),
        ("", ""),
    ],
)
def test_a_system_is_named_as_the_cluster_file_names_it(tmp_path, text, name):
    """From os-release(5)."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text(text)

    assert troubles.system(LocalHost(order(tmp_path, os_names=names_by_os_release()))) == name


@pytest.mark.parametrize("mode", ["check", "apply"])
def test_another_system_is_left_as_it_is(tmp_path, mode):
    """Packages and paths have other names there."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text("ID=ubuntu\nVERSION_ID=20.04\n")
    answer = agent.run_bundle(order(tmp_path, mode, os="debian-12", os_names=names_by_os_release()))

    assert "the host runs ubuntu-20.04, the cluster file declares debian-12" in answer["error"]
    assert (answer["fault_domain"], [path.name for path in tmp_path.iterdir()]) == ("host", ["etc"])
