"""What Slurm's packages are called, by who made them."""

import pytest

from clusterwright.provision.distribution import slurm_packages

REPOSITORIES = {"ours": {"url": "https://packages.example.org/slurm"}}


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
