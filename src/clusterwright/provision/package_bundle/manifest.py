"""The manifest of a bundle: what it is for, its packages, and the checksum of every file."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from clusterwright import __version__
from clusterwright.onhost.lib.versioned import Kind
from clusterwright.onhost.provision.packages import matches_release
from clusterwright.provision.resources import Package

MANIFEST, KEY, REPOSITORY = "manifest.json", "key.asc", "repository"
# key.asc, and files below repository/; no `..`, no hidden file
_PATH = re.compile(rf"{re.escape(KEY)}|{REPOSITORY}(/[A-Za-z0-9_][A-Za-z0-9._+~^-]*)+")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class BundledPackage:
    """One package in one version."""

    name: str
    version: str
    file: str


@dataclass(frozen=True, slots=True)
class BundledFile:
    """Size and SHA-256 of one file."""

    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class BundleManifest:
    """What a bundle contains, and the distribution and processor architecture of its packages."""

    os: str
    architecture: str
    packages: tuple[BundledPackage, ...]
    files: Mapping[str, BundledFile]
    clusterwright: str = __version__

    def is_for(self, system: str) -> bool:
        """Return True if the packages are those of this distribution release."""
        return self.os == system

    def dump(self) -> bytes:
        """Return the manifest as JSON."""
        return (FORMAT.dump(asdict(self)) + "\n").encode()

    @classmethod
    def parse(cls, data: bytes, path: str) -> BundleManifest:
        """Return a parsed manifest; `path` is the bundle's, for the error.

        Raises:
            NewerSchema: a newer version wrote it.
            Damaged: it is truncated, or no manifest.
        """
        document = FORMAT.parse(data, path)
        return cls(
            os=document["os"],
            architecture=document["architecture"],
            packages=tuple(BundledPackage(**row) for row in document["packages"]),
            files={name: BundledFile(**row) for name, row in document["files"].items()},
            clusterwright=document["clusterwright"],
        )

    def missing_packages(self, required: Iterable[Package]) -> tuple[str, ...]:
        """Return the required packages that the bundle lacks, sorted, each once.

        With the release where one is required. Empty if it has all.
        """
        versions = defaultdict(list)
        for package in self.packages:
            versions[package.name].append(package.version)
        missing = {
            f"{package.name} {package.version}".strip()
            for package in required
            if not any(_satisfies(version, package) for version in versions.get(package.name, ()))
        }
        return tuple(sorted(missing))


def _satisfies(version: str, package: Package) -> bool:
    return matches_release(version, package.version) and package.built_for in version


def _is_valid(document: dict[str, Any]) -> bool:
    texts = [document["os"], document["architecture"], document["clusterwright"]]
    for row in document["packages"]:
        texts += row.values() if row.keys() == {"name", "version", "file"} else [None]
    return all(isinstance(text, str) for text in texts) and all(
        _PATH.fullmatch(name)
        and row.keys() == {"size_bytes", "sha256"}
        and isinstance(row["size_bytes"], int)
        and _DIGEST.fullmatch(row["sha256"])
        for name, row in document["files"].items()
    )


FORMAT = Kind(1, _is_valid)
