"""What a bundle contains: every package of every host with its dependencies, in a signed repository."""

import subprocess
import tarfile

import pytest

from clusterwright.errors import WrightError
from clusterwright.onhost.provision import package_bundle
from clusterwright.onhost.provision.host import LocalHost
from clusterwright.provision.package_bundle import gather
from clusterwright.provision.package_bundle.archive import open_bundle
from clusterwright.provision.package_bundle.requirements import (
    context_without_secrets,
    host_resources,
    required_packages,
)


def names_in(path):
    """The members of an archive."""
    with tarfile.open(path) as archive:
        return archive.getnames()


def test_hosts_of_one_kind_share_a_package_list(cluster):
    """Four GPU hosts have one list, without Slurm's controller; the control host has another."""
    control, compute = required_packages(host_resources(cluster, context_without_secrets()))

    assert {"slurmctld", "munge", "chrony"} <= {package.name for package in control}
    assert "slurmd" in {package.name for package in compute}
    assert "slurmctld" not in {package.name for package in compute}


def test_repositories_of_a_distribution_are_no_requirement(altered):
    """The packages of EPEL are in the bundle, so that hosts need no epel-release."""
    changes = {"lab": None, "os": "rocky-9", "monitoring.prometheus": False}
    names = {
        package.name
        for packages in required_packages(host_resources(altered(changes), context_without_secrets()))
        for package in packages
    }

    assert "slurm-slurmd" in names
    assert "epel-release" not in names


def test_a_bundle_has_all_packages_and_what_they_depend_on(bundled, altered):
    """The manifest comes first, the members are sorted, and nothing is missing for the same file."""
    gathered, changes = bundled()
    cluster = altered(changes)
    required = [
        one for many in required_packages(host_resources(cluster, context_without_secrets())) for one in many
    ]
    bundle = open_bundle(cluster, required)
    members = names_in(gathered.path)

    assert members[0] == "manifest.json"
    assert members[1:] == sorted(bundle.manifest.files) == sorted(members[1:])
    assert "repository/libmunge2_0.5.15-1_all.deb" in members
    assert {package.name for package in required} | {"libmunge2"} == {
        package.name for package in bundle.manifest.packages
    }
    assert bundle.manifest.os == "debian-12"
    assert [path.name for path in gathered.path.parent.iterdir()] == ["bundle.tar"]


def test_a_package_that_no_repository_has_is_named_and_nothing_is_written(bundled, tmp_path):
    """The output of apt names it."""
    with pytest.raises(WrightError, match="chrony") as caught:
        bundled(without=("chrony",))

    assert caught.value.findings[0].code == "bundle-gather"
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("text", ['ID=ubuntu\nVERSION_ID="22.04"\n', "ID=debian\n", ""])
def test_another_distribution_cannot_gather(cluster, tmp_path, monkeypatch, text):
    """The error names the distribution and the image of a container."""
    (tmp_path / "os-release").write_text(text)
    monkeypatch.setattr(gather, "OS_RELEASE", tmp_path / "os-release")

    with pytest.raises(WrightError, match="debian:12") as caught:
        gather.gather(cluster, tmp_path / "bundle.tar")

    assert caught.value.findings[0].code == "bundle-machine"
    assert not (tmp_path / "bundle.tar").exists()


@pytest.fixture
def unpacked(bundled, tmp_path):
    """A host's root with a delivered bundle, and the host."""
    gathered, _changes = bundled()
    root = tmp_path / "root"
    folder = root / package_bundle.FOLDER.lstrip("/")
    folder.mkdir(parents=True)
    with tarfile.open(gathered.path) as archive:
        archive.extractall(folder, filter="data")
    return folder, LocalHost({"root": str(root), "resources": [], "mode": "apply", "package_bundle": True})


def simulate(folder, *names):
    """A simulated installation by the apt of this machine, with the bundle as its only source."""
    argv = ["apt-get", "install", "--simulate", "-o", "Dir::State::status=/dev/null", *names]
    environment = {"APT_CONFIG": str(folder / "apt.conf"), "PATH": "/usr/bin:/bin", "LC_ALL": "C"}
    return subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)


def test_apt_of_a_host_installs_from_the_bundle_alone(unpacked, monkeypatch):
    """Packages of the bundle with their dependencies, and none of the machine's own sources."""
    folder, host = unpacked
    monkeypatch.delenv("APT_CONFIG", raising=False)
    package_bundle.use_by_apt(host)

    assert "Inst libmunge2" in simulate(folder, "munge").stdout
    assert "Unable to locate package bash" in simulate(folder, "bash").stderr


@pytest.mark.parametrize("file", ["repository/Packages", "key.asc"])
def test_a_changed_repository_is_refused_by_apt(unpacked, monkeypatch, file):
    """The index has another checksum than the signed Release, or the key did not sign it."""
    folder, host = unpacked
    monkeypatch.delenv("APT_CONFIG", raising=False)
    path = folder / file
    path.write_bytes(path.read_bytes().replace(b"munge", b"mungo") if file.endswith("s") else b"")

    with pytest.raises(Exception, match="apt-get update"):
        package_bundle.use_by_apt(host)
