"""Gather deb packages by this machine's apt, in an apt state of its own in which nothing is installed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from clusterwright.edge import signed_repository
from clusterwright.i18n import _
from clusterwright.onhost.lib.files import rename
from clusterwright.onhost.provision.sets import newest_match
from clusterwright.provision.package_bundle.downloads import counted, run_manager
from clusterwright.provision.package_bundle.manifest import REPOSITORY, BundledPackage
from clusterwright.provision.resources import File, Package, encode_content

_SOURCES = Path("/etc/apt")
_KEYRINGS = "/etc/apt/keyrings"  # of the files that hosts get


class Apt:
    """An apt with its own state below a folder, this machine's sources, and those of the cluster file."""

    def __init__(self, folder: Path, sources: Iterable[File], pins: Mapping[str, str]) -> None:
        self._archives = folder / "cache" / "archives"
        for name in (
            "lists/partial",
            "cache/archives/partial",
            "sources.list.d",
            "keyrings",
            "preferences.d",
        ):
            (folder / name).mkdir(parents=True)
        (folder / "status").touch()
        for path in (_SOURCES / "sources.list", *_SOURCES.glob("sources.list.d/*")):
            if path.is_file():
                (folder / "sources.list.d" / path.name).write_bytes(_copied(path.read_bytes()))
        for file in sources:
            content = encode_content(file.content).replace(
                _KEYRINGS.encode(), str(folder / "keyrings").encode()
            )
            (folder / Path(file.path).parent.name / Path(file.path).name).write_bytes(_copied(content))
        for name, text in pins.items():
            (folder / "preferences.d" / name).write_text(text)
        self._config = folder / "apt.conf"
        self._config.write_text(_config(folder))

    def _must(self, program: str, *arguments: str) -> str:
        """Run apt-get or apt-cache with the settings of this state, and return its output.

        Raises:
            WrightError: it fails.
        """
        return run_manager(
            (program, "-c", str(self._config), *arguments),
            f"{program} {arguments[0]}",
            _("make these packages available to apt-get here, or add software.repositories"),
        )

    def _package_argument(self, package: Package) -> str:
        """Return the package as an argument of apt-get, with its exact version if a release is required."""
        if not package.version:
            return package.name
        rows = self._must("apt-cache", "madison", package.name)
        version = newest_match(rows, package.version, package.built_for)
        return f"{package.name}={version or package.version}"

    def gather(
        self,
        required: Sequence[Sequence[Package]],
        repository: Path,
        home: Path,
        on_progress: Callable[[str], None],
    ) -> tuple[BundledPackage, ...]:
        """Download each package list with its dependencies into the folder `repository`; index and sign it for apt.

        Return the packages in it. `home` is the folder with gpg's key.
        """
        on_progress(_("reading the package lists of the repositories"))
        self._must("apt-get", "update", "-o", "APT::Update::Error-Mode=any")
        for packages in counted(required, on_progress):
            arguments = [self._package_argument(package) for package in packages]
            self._must("apt-get", "install", "-y", "--download-only", "--no-install-recommends", *arguments)
        bundled, entries = [], []
        for path in sorted(self._archives.glob("*.deb")):
            control = signed_repository.run_checked("dpkg-deb", "--field", str(path))
            fields = dict(
                line.split(": ", 1) for line in control.splitlines() if ": " in line and line[0] != " "
            )
            version = fields["Version"].rpartition(":")[2]  # file names have no epoch
            target = repository / f"{fields['Package']}_{version}_{fields['Architecture']}.deb"
            rename(path, target, durable=False)
            entries.append(signed_repository.deb_entry(control, target))
            bundled.append(
                BundledPackage(fields["Package"], fields["Version"], f"{REPOSITORY}/{target.name}")
            )
        signed_repository.sign_debs(
            repository, "\n".join(entries), home, origin="clusterwright", label="clusterwright-bundle"
        )
        return tuple(bundled)

    def architecture(self) -> str:
        """Return the processor architecture of this machine's packages."""
        return signed_repository.run_checked("dpkg", "--print-architecture").strip()


def _copied(source: bytes) -> bytes:
    """Return a source file that makes apt copy packages of a local repository, which it otherwise reads in place."""
    return re.sub(rb"\bfile:(?=/)", b"copy:", source)


def _config(folder: Path) -> str:
    """Return the text of an apt.conf with state, cache and lists below `folder`.

    Proxies and credentials stay those of the machine.
    """
    settings = {
        "Dir::State": folder,
        "Dir::State::lists": folder / "lists",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder / "cache",
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": folder / "sources.list.d",
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": folder / "preferences.d",
        "APT::Sandbox::User": "root",
        "APT::Get::List-Cleanup": "false",
        "Debug::NoLocking": "true",
    }
    return "".join(f'{name} "{value}";\n' for name, value in settings.items())
