"""A bundle of rpm packages, by the real dnf, rpmbuild and createrepo_c: gathered, installed, and refused if changed."""

import shutil
import subprocess

import pytest

from clusterwright.edge import signed_repository
from clusterwright.errors import WrightError
from clusterwright.onhost.provision import package_bundle
from clusterwright.onhost.provision.host import ChangeError, LocalHost
from clusterwright.onhost.provision.packages import dnf_install
from clusterwright.provision.package_bundle.dnf import Dnf
from clusterwright.provision.package_bundle.manifest import BundledPackage
from clusterwright.provision.resources import Package

TOOLS = ("dnf", "rpm", "rpmbuild", "createrepo_c", "gpg")
SPEC = """Name: {name}
Version: {version}
Release: 1.el9
Summary: a placeholder
License: MIT
BuildArch: noarch
{requires}
%description
A placeholder.
%files
"""
PACKAGES = (
    ("slurm-slurmd", "24.11.5", "Requires: munge >= 0.5"),
    ("munge", "0.5.13", ""),
    ("munge-docs", "0.5.13", ""),
)

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, TOOLS)), reason="dnf, rpmbuild and createrepo_c are not installed"
)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A folder of dnf's source files, with one repository of packages that rpmbuild made."""
    folder = tmp_path_factory.mktemp("site")
    for name, version, requires in PACKAGES:
        spec = folder / f"{name}.spec"
        spec.write_text(SPEC.format(name=name, version=version, requires=requires))
        subprocess.run(["rpmbuild", "--quiet", "-bb", "--define", f"_topdir {folder}", spec], check=True)
    subprocess.run(["createrepo_c", "--quiet", folder / "RPMS"], check=True)
    (folder / "sources").mkdir()
    (folder / "sources" / "site.repo").write_text(
        f"[site]\nname=site\nbaseurl=file://{folder}/RPMS\ngpgcheck=0\n"
    )
    return folder / "sources"


@pytest.fixture
def gathered(sources, tmp_path):
    """Gathers slurmd 24.11 into a host's root, and returns the repository's packages and the host."""
    root = tmp_path / "root"
    folder = root / package_bundle.FOLDER.lstrip("/")
    (folder / "repository").mkdir(parents=True)
    home = tmp_path / "gpg"
    signed_repository.make_key(home, "a bundle")
    (folder / "key.asc").write_text(signed_repository.public_key(home))
    (folder / "manifest.json").write_text("{}")
    tool = Dnf(tmp_path / "scratch", (), "9", of=str(sources))
    wanted = [[Package(name="slurm-slurmd", version="24.11")]]
    packages = tool.gather(wanted, folder / "repository", home, lambda _text: None)
    return packages, LocalHost({"root": str(root), "resources": [], "mode": "apply", "package_bundle": True})


def test_packages_and_dependencies_are_gathered_and_installed(gathered):
    """Not those that nothing needs; dnf of the host uses the bundle alone, and checks its signature."""
    packages, host = gathered
    names = {package.name: package for package in packages}
    dnf_install(host, [{"name": "slurm-slurmd", "version": "24.11", "built_for": ""}])
    installed = subprocess.run(
        ["rpm", "--root", host.root, "-qa", "--qf", "%{NAME} "], capture_output=True, text=True, check=True
    ).stdout.split()

    assert names["slurm-slurmd"] == BundledPackage(
        "slurm-slurmd", "0:24.11.5-1.el9", "repository/slurm-slurmd-24.11.5-1.el9.noarch.rpm"
    )
    assert names.keys() == {"slurm-slurmd", "munge"}
    assert {"slurm-slurmd", "munge"} <= set(installed)


@pytest.mark.parametrize(
    "name", ["repository/repodata/repomd.xml", "repository/munge-0.5.13-1.el9.noarch.rpm"]
)
def test_a_changed_repository_is_refused_by_dnf(gathered, name):
    """The index has another content than the signature, or a package another checksum than the index."""
    _packages, host = gathered
    path = host.resolve_path(f"{package_bundle.FOLDER}/{name}")
    with open(path, "ab") as file:
        file.write(b"\n")

    with pytest.raises(ChangeError, match="dnf install"):
        dnf_install(host, [{"name": "slurm-slurmd", "version": "", "built_for": ""}])


def test_a_package_that_no_repository_has_is_named(sources, tmp_path):
    """The output of dnf names it."""
    tool = Dnf(tmp_path / "scratch", (), "9", of=str(sources))

    with pytest.raises(WrightError, match="chrony") as caught:
        tool.gather([[Package(name="chrony")]], tmp_path / "repository", tmp_path, lambda _text: None)

    assert caught.value.findings[0].code == "bundle-gather"
