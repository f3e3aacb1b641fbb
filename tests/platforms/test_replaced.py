"""Distributions of older guides: each spelling gets its successors and the migration, before anything is tried."""

import pytest
import yaml

from clusterwright.config.load import validate
from clusterwright.platforms import platform_names
from clusterwright.platforms.replaced import replaced

SPELLINGS = {
    7: ["centos-7", "CentOS 7", "centos7", "centos-7.9", "CentOS Linux 7", "rhel-7", "ol7"],
    8: ["centos-8", "CentOS 8", "centos8", "centos-8.5", "CentOS-Stream-8", "centos stream 8", "rhel-8",
        "RHEL 8.10", "ol-8", "Oracle Linux 8", "Red Hat Enterprise Linux 8"],
    9: ["centos-stream-9", "CentOS Stream 9", "rhel-9", "rhel9.4", "ol-9"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("version", "name"), [(version, name) for version, names in SPELLINGS.items() for name in names]
)
def test_every_spelling_has_supported_successors_of_rocky_and_alma(version, name):
    """The nearest major version first, all of them values of `os`."""
    row = replaced(name)

    assert set(row.successors) <= set(platform_names())
    assert row.successors[:2] == (f"rocky-{max(version, 8)}", f"alma-{max(version, 8)}")


@pytest.mark.parametrize(
    "name", [*platform_names(), "ubuntu-18.04", "debian-10", "fedora-40", "", None, 8, "centos" * 50]
)
def test_other_values_are_left_to_the_choices(name):
    """A supported one is never refused, and a misspelt one gets the closest name."""
    assert replaced(name) is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("centos-8", ("centos-8", "rocky-8", "alma-8", "migrate2rocky.sh", "almalinux-deploy.sh", "vault.centos.org")),
        ("centos-7", ("centos-7", "rocky-8", "alma-8", "ELevate", "leapp preupgrade", "vault.centos.org")),
        ("rhel-8", ("rhel-8", "rocky-8", "alma-8", "migrate2rocky.sh")),
        ("centos-stream-9", ("rocky-9", "alma-9", "migrate2rocky9.sh")),
    ],
)  # fmt: skip
def test_the_cluster_file_answers_with_the_migration(name, words, tmp_path):
    """At the line of `os`, with a code of its own, before anything else is done."""
    text = yaml.safe_dump(
        {"name": "c", "os": name, "networks": {"management": {"cidr": "10.0.0.0/24"}}, "nodes": {}}
    )
    file = tmp_path / "cluster.yaml"
    file.write_text(text)

    (finding,) = [finding for finding in validate(file) if finding.code == "os-replaced"]
    assert finding.places[0].line == [line.split(":")[0] for line in text.splitlines()].index("os") + 1
    assert [word for word in words if word not in f"{finding.message} {finding.fix}"] == []
