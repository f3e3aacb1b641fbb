"""The lab's stand-ins for NVIDIA's packages: what is in them, and that apt would take the repository."""

import hashlib
import os
import re
import subprocess

import pytest

from clusterwright.lab.packages import repository
from clusterwright.lab.packages.contents import StandIn
from clusterwright.provision.gpu_packages import names


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder that is served, and where its key is; made by somebody who lets nobody else read."""
    folder, before = tmp_path_factory.mktemp("repository"), os.umask(0o077)
    try:
        repository.build(folder / "served", folder / "key")
    finally:
        os.umask(before)
    return folder / "served", folder / "key"


def test_every_package_is_listed_with_its_own_sum(built):
    """What apt holds the downloaded file against."""
    served, _key = built
    rows = re.findall(r"Filename: \./(\S+)\nSize: (\d+)\nSHA256: (\w+)", (served / "Packages").read_text())

    assert len(rows) == len(repository.standins()) > 30
    for name, size, digest in rows:
        data = (served / name).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (int(size), digest)


def test_the_list_is_signed_by_the_key_that_is_offered(built, tmp_path):
    """And by no other: a key of another lab does not verify it."""
    served, key = built
    other = tmp_path / "other"
    repository.make_key(other)

    def verify(home):
        argv = ["gpg", "--homedir", home, "--batch", "--verify", served / "InRelease"]
        return subprocess.run(argv, capture_output=True, check=False).returncode

    assert verify(key) == 0
    assert verify(other) != 0
    assert (served / "key.asc").read_text().startswith("-----BEGIN PGP PUBLIC KEY BLOCK-----")


def test_a_package_is_what_dpkg_reads(built):
    """Name, version with its epoch, dependencies of the same version."""
    served, _key = built
    file = served / "datacenter-gpu-manager-4-cuda12_4.4.1-1_all.deb"
    said = subprocess.run(["dpkg-deb", "--field", file], capture_output=True, text=True, check=True).stdout

    assert "Version: 1:4.4.1-1\n" in said
    assert "Depends: datacenter-gpu-manager-4-core (= 1:4.4.1-1)\n" in said


def test_versions_are_those_that_the_maker_counts():
    """Without epoch and packager's number."""
    assert StandIn("a", "1:4.4.1-1").version == "4.4.1"
    assert StandIn("a", "2.27.3-1+cuda12.8").version == "2.27.3"


def test_there_is_a_stand_in_for_every_name_that_debian_is_asked_for(cluster_of_debian):
    """A name that the table has and the lab has not would never be tried."""
    known = {one.name for one in repository.standins()}
    parts = {"driver-open": "580.95.05", "driver-proprietary": "580.95.05", "persistence": "580.95.05"}
    parts |= {"fabric": "580.95.05", "cuda": "12.8.1", "cudnn": "9.8.0", "nccl": "2.27.3", "dcgm": "4.4.1"}
    parts |= {"container": "1.17.8"}
    asked = {name for part, which in parts.items() for name in names(cluster_of_debian, part, which)}

    assert len(asked) > 12
    assert asked - known == set()


@pytest.fixture
def cluster_of_debian():
    """The lab's example with a CUDA named."""
    from pathlib import Path

    from clusterwright.config.load import cluster_of
    from clusterwright.config.reader import read

    text = (Path(__file__).parents[2] / "examples/lab/cluster.yaml").read_text()
    return cluster_of(read(text + '\nsoftware: {cuda: "12.8"}\n', "cluster.yaml"))
