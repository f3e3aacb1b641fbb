"""What packages are called on the hosts, and whose packages Slurm's are."""

import pytest

from clusterwright.provision.packages import packages, slurm_packages

REPOSITORIES = {"slurm": {"url": "https://packages.example.org/slurm", "unsigned": True}}


@pytest.mark.parametrize(
    ("os", "names"),
    [
        ("debian-12", ["nfs-common", "python3-venv", "netbase", "firewalld"]),
        ("rocky-9", ["nfs-utils", "firewalld"]),
    ],
)
def test_packages_have_the_names_of_the_distribution(altered, os, names):
    """Where it divides them in another way there are several, or none."""
    cluster = altered({"lab": None, "os": os, "software.slurm": "22.05", "monitoring.prometheus": False})

    assert [one.name for one in packages(cluster, "nfs-common", "python3-venv", "firewalld")] == names


@pytest.mark.parametrize(
    ("os", "slurm", "names"),
    [
        ("debian-12", "22.05", ["slurmd"]),
        ("ubuntu-24.04", "23.11", ["slurmd"]),
        ("ubuntu-24.04", "25.11", ["slurm-smd-slurmd"]),
        ("debian-13", "26.05", ["slurm-smd-slurmd"]),
        ("rocky-9", "22.05", ["slurm-slurmd"]),
        ("alma-8", "21.08", ["slurm-slurmd"]),
    ],
)
def test_slurms_packages_have_the_names_of_who_made_them(altered, os, slurm, names):
    """The distribution's own release has its names; any other those of Slurm's own packaging."""
    software = {"slurm": slurm, "repositories": REPOSITORIES}
    cluster = altered({"lab": None, "os": os, "software": software})
    found = slurm_packages(cluster, "slurmd")

    assert [package.name for package in found] == names
    assert {package.version for package in found} == {slurm}
    assert cluster.platform.name == os


def test_the_commands_of_slurms_own_debs_are_a_package_of_their_own(altered):
    """slurm-smd alone has the plugins only (debian/control)."""
    software = {"slurm": "25.11", "repositories": REPOSITORIES}
    cluster = altered({"lab": None, "os": "ubuntu-22.04", "software": software})

    assert [one.name for one in slurm_packages(cluster, "client")] == ["slurm-smd", "slurm-smd-client"]


@pytest.mark.parametrize(
    ("version", "maker", "name"),
    [
        ("22.05", "auto", "slurmd"),
        ("25.11", "auto", "slurm-smd-slurmd"),
        ("25.11", "schedmd", "slurm-smd-slurmd"),
        ("23.02", "distribution", "slurmd"),
    ],
)
def test_a_site_may_say_who_made_them(altered, version, maker, name):
    """A backport has the distribution's names, though it is of another release."""
    software = {"slurm": version, "slurm_packages": maker, "repositories": REPOSITORIES}
    found = altered({"lab": None, "software": software})

    assert [package.name for package in slurm_packages(found, "slurmd")] == [name]
