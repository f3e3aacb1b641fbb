"""What keeps a machine from making hosts."""

import dataclasses

import pytest

from clusterwright.lab.able import LabMachine, distribution_of, judge

GOOD = LabMachine(
    system="linux", root=True, distribution="debian", missing_programs=(), has_keyring=True, overlay=True,
    loop=True, cgroups=True, namespaces=True,
)  # fmt: skip


def test_a_debian_machine_with_everything_is_able():
    """Nothing to say."""
    assert judge(GOOD) == ()


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        ({"root": False, "namespaces": False}, "lab-needs-root", "sudo"),
        ({"system": "darwin"}, "lab-needs-linux", "Linux"),
        ({"distribution": "fedora"}, "lab-needs-debian", "fedora"),
        (
            {"missing_programs": ("systemd-nspawn", "tc")},
            "lab-missing-program",
            "install iproute2 systemd-container",
        ),
        ({"has_keyring": False}, "lab-missing-program", "apt-get install debian-archive-keyring"),
        ({"overlay": False}, "lab-missing-kernel-part", "modprobe overlay"),
        ({"loop": False}, "lab-missing-kernel-part", "modprobe loop"),
        ({"cgroups": False}, "lab-missing-kernel-part", "privileged"),
        ({"namespaces": False}, "lab-missing-kernel-part", "privileged"),
    ],
)
def test_each_missing_part_is_named_with_what_brings_it(change, code, said):
    """One finding for one part."""
    (found,) = judge(dataclasses.replace(GOOD, **change))

    assert found.code == code
    assert said in str(found)


def test_everything_missing_is_said_at_once():
    """Not one after the other."""
    found = judge(dataclasses.replace(GOOD, root=False, distribution="arch", missing_programs=("ip",)))

    assert [finding.code for finding in found] == [
        "lab-needs-root",
        "lab-needs-debian",
        "lab-missing-program",
    ]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('ID=debian\nVERSION_ID="12"\n', "debian"),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"\n', "ubuntu"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "rocky"),
        ("", "unknown"),
    ],
)
def test_a_distribution_is_read_from_os_release(text, name):
    """Also of what calls itself like Debian or Ubuntu."""
    assert distribution_of(text) == name
