"""Gather the packages of a cluster file into a bundle, on a machine with the same distribution and a network."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from clusterwright.config.cluster import Cluster
from clusterwright.edge import signed_repository
from clusterwright.edge.files import write_file_atomic
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.platforms import names_by_os_release
from clusterwright.provision.package_bundle.apt import Apt
from clusterwright.provision.package_bundle.archive import file_rows, write_bundle
from clusterwright.provision.package_bundle.dnf import Dnf
from clusterwright.provision.package_bundle.manifest import KEY, REPOSITORY, BundleManifest
from clusterwright.provision.package_bundle.requirements import (
    context_without_secrets,
    host_resources,
    required_packages,
    version_pins,
)
from clusterwright.provision.roles.repositories import repository_files
from clusterwright.provision.systems import require_single_system

OS_RELEASE = Path("/etc/os-release")


@dataclass(frozen=True, slots=True)
class WrittenBundle:
    """A written bundle: its SHA-256, and what is in it."""

    path: Path
    sha256: str
    packages: int
    size_bytes: int


def gather(
    cluster: Cluster, out: Path, *, on_progress: Callable[[str], None] = lambda _text: None
) -> WrittenBundle:
    """Download the cluster's packages and all that they depend on; write the bundle atomically to `out`, return it.

    It is signed with a new key, whose public part it contains.

    Raises:
        WrightError: this machine has another distribution, or a package cannot be downloaded.
    """
    require_single_system(cluster, _("a package bundle"))
    _refuse_other_system(cluster, OS_RELEASE)
    context = context_without_secrets()
    resources = host_resources(cluster, context)
    required = required_packages(resources)
    out = out.absolute()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fix = _("choose a path in a writable folder with --out")
        raise WrightError.from_code("not-writable", f"{error.strerror}: {out.parent}", fix) from error
    with (
        tempfile.TemporaryDirectory(prefix=".wright-bundle-", dir=out.parent) as name,
        tempfile.TemporaryDirectory(prefix="wright-gpg-") as home_name,  # the path of gpg's socket is short
    ):
        scratch, home = Path(name) / "scratch", Path(home_name)
        content = Path(name) / "content"
        repository = content / REPOSITORY
        repository.mkdir(parents=True)
        scratch.mkdir()
        sources = repository_files(cluster, context)
        signed_repository.make_key(home, f"clusterwright bundle for {cluster.name}")
        tool = (
            Apt(scratch, sources, version_pins(resources))
            if cluster.platform.package_manager == "apt"
            else Dnf(scratch, sources, cluster.platform.os_release_version)
        )
        packages = tool.gather(required, repository, home, on_progress)
        write_file_atomic(content / KEY, signed_repository.public_key(home))
        manifest = BundleManifest(cluster.os, tool.architecture(), packages, file_rows(content))
        on_progress(_("writing {out}", out=out))
        sha256 = write_bundle(out, content, manifest)
    return WrittenBundle(out, sha256, len(packages), out.stat().st_size)


def _refuse_other_system(cluster: Cluster, os_release: Path) -> None:
    """Raise WrightError unless this machine has the cluster's distribution, whose repositories are then its own."""
    text = os_release.read_text(encoding="utf-8") if os_release.exists() else ""
    fields = {key: value.strip("\"'") for key, value in re.findall(r"(?m)^(\w+)=(.*)$", text)}
    name, version = fields.get("ID", ""), fields.get("VERSION_ID", "")
    names = names_by_os_release()
    machine = names.get(f"{name}-{version}") or names.get(f"{name}-{version.partition('.')[0]}")
    if machine != cluster.os:
        raise WrightError.from_code(
            "bundle-machine",
            _(
                "packages of {os} are gathered on a machine with {os}, and this one has {machine}",
                os=cluster.os,
                machine=machine or f"{name} {version}".strip() or _("another system"),
            ),
            _(
                "run the command on such a machine, or in a container of the image {image}",
                image=cluster.platform.container_image,
            ),
        )
