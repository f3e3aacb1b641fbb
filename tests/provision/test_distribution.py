"""What distributions call things, and whose packages Slurm's are."""

import csv
from pathlib import Path
from typing import get_args

import pytest

import clusterwright.provision
from clusterwright.config.cluster import Cluster
from clusterwright.provision.distribution import Distribution, distribution, slurm_packages

TABLE = Path(clusterwright.provision.__file__).with_name("distributions.csv")
OS = get_args(Cluster.model_fields["os"].annotation)
REPOSITORIES = {"slurm": {"url": "https://packages.example.org/slurm"}}


def test_every_row_differs_and_says_from_where():
    """A name that is the same everywhere needs no row; one without a source is a guess."""
    rows = list(csv.DictReader(TABLE.read_text().splitlines()))

    assert len({(row["kind"], row["name"]) for row in rows}) == len(rows)
    assert all(row["rhel"] and row["rhel"] != row["name"] and row["source"] for row in rows)
    assert {row["kind"] for row in rows} == {"package", "unit", "path", "word"}


@pytest.mark.parametrize(("os", "unit"), [("rocky-9", "sshd.service"), ("ubuntu-22.04", "ssh.service")])
def test_a_unit_has_its_own_name(os, unit):
    """And what is in no row has Debian's."""
    assert Distribution(os).unit("ssh.service") == unit
    assert Distribution(os).unit("munge.service") == "munge.service"


@pytest.mark.parametrize("os", OS)
def test_every_system_of_the_file_is_of_a_family(os):
    """Rocky and Alma have dnf, all others apt."""
    assert Distribution(os).family == ("rhel" if os.startswith(("rocky", "alma")) else "debian")


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
    packages = slurm_packages(cluster, "slurmd")

    assert [package.name for package in packages] == names
    assert {package.version for package in packages} == {slurm}
    assert distribution(cluster).name == os


def test_the_commands_of_slurms_own_debs_are_a_package_of_their_own(altered):
    """slurm-smd alone has the plugins only (debian/control)."""
    software = {"slurm": "25.11", "repositories": REPOSITORIES}
    cluster = altered({"lab": None, "os": "ubuntu-22.04", "software": software})

    assert [one.name for one in slurm_packages(cluster, "client")] == ["slurm-smd", "slurm-smd-client"]
