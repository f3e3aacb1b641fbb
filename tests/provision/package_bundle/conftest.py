"""Bundles of placeholder packages, gathered by the real apt from a repository on this machine."""

import subprocess

import pytest

from clusterwright.edge import signed_repository
from clusterwright.lab.packages.contents import StandIn
from clusterwright.provision.package_bundle import apt, gather
from clusterwright.provision.package_bundle.requirements import (
    context_without_secrets,
    host_resources,
    required_packages,
)

DEPENDENCIES = {"munge": "libmunge2 (= 0.5.15-1)"}


def build_deb(package, folder):
    """A package of dpkg-deb with only control data."""
    root = folder / "root" / package.name
    (root / "DEBIAN").mkdir(parents=True)
    (root / "DEBIAN" / "control").write_text(package.control())
    path = folder / package.file_name
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", root, path], check=True, stdout=-3)
    return path


@pytest.fixture(scope="session")
def site_repository(tmp_path_factory):
    """Builds a signed repository with placeholders of a cluster's packages; returns its folder and public key."""

    def build(cluster, without=()):
        folder, home = tmp_path_factory.mktemp("repository"), tmp_path_factory.mktemp("gpg")
        names = {
            one.name: one.version
            for many in required_packages(host_resources(cluster, context_without_secrets()))
            for one in many
        }
        debs = [
            StandIn(name, f"1:{version or '1.0'}-1", depends=DEPENDENCIES.get(name, ""))
            for name, version in names.items()
            if name not in without
        ]
        debs.append(StandIn("libmunge2", "0.5.15-1"))
        entries = [signed_repository.deb_entry(deb.control(), build_deb(deb, folder)) for deb in debs]
        signed_repository.make_key(home, "a site")
        signed_repository.sign_debs(folder, "\n".join(entries), home, origin="site", label="site")
        return folder, signed_repository.public_key(home)

    return build


@pytest.fixture
def bundled(altered, site_repository, tmp_path, monkeypatch):
    """Gathers a bundle from such a repository alone; returns it and the values of the file that names it."""
    (tmp_path / "os-release").write_text('ID=debian\nVERSION_ID="12"\n')
    monkeypatch.setattr(gather, "OS_RELEASE", tmp_path / "os-release")
    monkeypatch.setattr(apt, "_SOURCES", tmp_path / "no-sources")

    def make(changes=None, without=()):
        folder, key = site_repository(altered(changes or {}), without)
        sources = {"site": {"url": f"file://{folder}", "key": key}}
        cluster = altered((changes or {}) | {"software.repositories": sources})
        gathered = gather.gather(cluster, tmp_path / "out" / "bundle.tar")
        return gathered, {"software.bundle": {"path": str(gathered.path), "sha256": gathered.sha256}}

    return make
