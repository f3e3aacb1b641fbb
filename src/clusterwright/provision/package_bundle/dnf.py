"""Gather rpm packages by this machine's dnf, for an empty root in which nothing is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from clusterwright.edge import signed_repository
from clusterwright.i18n import _
from clusterwright.onhost.provision.package_bundle import NO_LOCAL_PLUGIN
from clusterwright.onhost.provision.packages import ONLY_NEEDED, release
from clusterwright.provision.package_bundle.downloads import counted, run_manager
from clusterwright.provision.package_bundle.manifest import REPOSITORY, BundledPackage
from clusterwright.provision.resources import File, Package, encode_content

_SOURCES = "/etc/yum.repos.d"
_KEYRINGS = "/etc/pki/rpm-gpg"  # of the files that hosts get


class Dnf:
    """A dnf with an empty root below a folder, this machine's repositories, and those of the cluster file."""

    def __init__(
        self, folder: Path, sources: Iterable[File], release_version: str, of: str = _SOURCES
    ) -> None:
        self._root, self._cache, ours = folder / "root", folder / "cache", folder / "repositories"
        for path in (self._root, self._cache, ours):
            path.mkdir(parents=True)
        for file in sources:
            text = encode_content(file.content).replace(_KEYRINGS.encode(), str(ours).encode())
            (ours / Path(file.path).name).write_bytes(text)
        self._options = (
            f"--installroot={self._root}",
            f"--releasever={release_version}",
            f"--setopt=cachedir={self._cache}",
            f"--setopt=reposdir={of},{ours}",
            ONLY_NEEDED,
            NO_LOCAL_PLUGIN,
        )

    def _download(self, arguments: Iterable[str], folder: Path) -> None:
        """Download packages and everything that they depend on into the folder.

        Raises:
            WrightError: dnf fails, or a package is in no repository.
        """
        argv = (
            "dnf",
            "install",
            "-y",
            "--downloadonly",
            f"--downloaddir={folder}",
            *self._options,
            *arguments,
        )
        fix = _(
            "make these packages available to dnf here (`dnf install epel-release` for EPEL), or add "
            "software.repositories"
        )
        run_manager(argv, "dnf install", fix)

    def gather(
        self,
        required: Sequence[Sequence[Package]],
        repository: Path,
        home: Path,
        on_progress: Callable[[str], None],
    ) -> tuple[BundledPackage, ...]:
        """Download each package list with its dependencies into the folder `repository`; index and sign it for dnf.

        Return the packages in it. `home` is the folder with gpg's key.
        """
        for packages in counted(required, on_progress):
            self._download(map(_package_argument, packages), repository)
        bundled = [_bundled(path) for path in sorted(repository.glob("*.rpm"))]
        signed_repository.run_checked("createrepo_c", "--quiet", str(repository))
        signed_repository.sign_rpms(repository, home)
        return tuple(bundled)

    def architecture(self) -> str:
        """Return the processor architecture of this machine's packages."""
        return signed_repository.run_checked("rpm", "--eval", "%{_arch}").strip()


def _package_argument(package: Package) -> str:
    """Return the package as an argument of dnf, with a version pattern if a release is required."""
    if not package.version:
        return package.name
    return f"{package.name}-{release({'version': package.version, 'built_for': package.built_for})}"


def _bundled(path: Path) -> BundledPackage:
    form = "%{NAME} %{EPOCHNUM}:%{VERSION}-%{RELEASE}"
    name, version = signed_repository.run_checked(
        "rpm", "-qp", "--nosignature", "--qf", form, str(path)
    ).split()
    return BundledPackage(name, version, f"{REPOSITORY}/{path.name}")
