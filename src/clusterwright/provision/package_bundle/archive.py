"""A bundle on this machine: one tar file with a manifest, a public key and a signed repository."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from clusterwright.config.cluster import Cluster
from clusterwright.errors import WrightError
from clusterwright.file_arguments import open_argument
from clusterwright.i18n import _
from clusterwright.onhost.lib.files import replacing
from clusterwright.onhost.lib.safe_reader import DOCUMENT_BYTES
from clusterwright.onhost.lib.versioned import Damaged, NewerSchema
from clusterwright.provision.package_bundle.manifest import MANIFEST, BundledFile, BundleManifest
from clusterwright.provision.resources import Package

_MAX_NAMED = 10  # missing packages or damaged files in a message
# ours: a header of a name of 255 bytes, or of other fields, which tarfile parses in quadratic time
_EXTENDED_BYTES = 512
_EXTENDED_TYPES = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


class _BoundedTarInfo(tarfile.TarInfo):
    """A header of a bundle, which may claim any size before its checksum is known."""

    @classmethod
    def frombuf(cls, *arguments: Any, **named: Any) -> Self:
        """Parse a header block.

        Raises:
            tarfile.ReadError: it is that of an extended header that no bundle has, or of a file with holes.
        """
        header = super().frombuf(*arguments, **named)
        is_large = header.type in _EXTENDED_TYPES and header.size > _EXTENDED_BYTES
        if is_large or header.type == tarfile.GNUTYPE_SPARSE:
            raise tarfile.ReadError("a header of a bundle is too large")
        return header

    def _refuse_holes(self, *_arguments: Any) -> None:
        raise tarfile.ReadError("a bundle has no files with holes")

    # tarfile's readers of a map of holes, each in another format
    _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = _refuse_holes


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle whose checksum is that of the cluster file; `manifest_text` is the manifest, byte for byte."""

    path: Path
    manifest: BundleManifest
    manifest_text: bytes

    @property
    def digest(self) -> str:
        """Return the manifest's SHA-256, which identifies the bundle's contents."""
        return hashlib.sha256(self.manifest_text).hexdigest()

    def open_files(self, names: Iterable[str]) -> Iterator[tuple[str, int, IO[bytes]]]:
        """Yield files with size and content, in the order of the archive; read each before the next one."""
        requested = set(names)
        with tarfile.open(self.path, "r:", tarinfo=_BoundedTarInfo) as archive:
            for entry in archive:
                if entry.name in requested and (content := archive.extractfile(entry)):
                    yield entry.name, entry.size, content


def write_bundle(out: Path, folder: Path, manifest: BundleManifest) -> str:
    """Write the manifest and the files of the folder as a tar file, atomically; return its SHA-256.

    Equal files give an equal archive: sorted, without owners and times.
    """
    with replacing(out) as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
            text = manifest.dump()
            archive.addfile(member(MANIFEST, len(text)), io.BytesIO(text))
            for name in sorted(manifest.files):
                with (folder / name).open("rb") as content:
                    archive.addfile(member(name, manifest.files[name].size_bytes), content)
        file.flush()
        return _digest(Path(file.name))


def file_rows(folder: Path) -> dict[str, BundledFile]:
    """Return size and checksum of every file below the folder, by relative path."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): BundledFile(path.stat().st_size, _digest(path)) for path in paths}


def member(name: str, size_bytes: int) -> tarfile.TarInfo:
    """Return the tar header of a file of a bundle: mode 0644, without owner and time."""
    header = tarfile.TarInfo(name)
    header.size, header.mode = size_bytes, 0o644
    return header


def open_bundle(cluster: Cluster, required: Iterable[Package]) -> Bundle | None:
    """Return the bundle of the cluster file after checking it, or None if the file names none.

    Raises:
        WrightError: it is missing, damaged, of a newer format, another one than the file names, for another
            distribution, or lacks a required package.
    """
    setting = cluster.software.bundle
    if setting is None:
        return None
    path = Path(setting.path)
    bundle = _read(path, setting.sha256)
    manifest = bundle.manifest
    if not manifest.is_for(cluster.os):
        raise WrightError.from_code(
            "bundle-platform",
            _(
                "{path} has packages for {bundle}, and `os` is {os}",
                path=path,
                bundle=manifest.os,
                os=cluster.os,
            ),
            _(
                "gather one for {os} on a machine with it: wright bundle --out FILE",
                os=cluster.os,
            ),
        )
    if missing := manifest.missing_packages(required):
        raise WrightError.from_code(
            "bundle-incomplete",
            _(
                "{path} lacks packages that this cluster file needs: {packages}",
                path=path,
                packages=_named(missing),
            ),
            _(
                "gather a new bundle with this cluster file where there is a network: wright bundle --out FILE"
            ),
        )
    return bundle


def _read(path: Path, sha256: str) -> Bundle:
    """Return the bundle if its SHA-256 is `sha256`; its manifest comes from the bytes that are hashed.

    Raises:
        WrightError: it is unreadable, damaged, of a newer format, or another bundle.
    """
    try:
        with open_argument(path) as file:
            hashed = _HashedFile(file)
            with tarfile.open(fileobj=hashed, mode="r|", tarinfo=_BoundedTarInfo) as archive:
                text = _manifest_text(archive)
            actual = hashed.hexdigest()
            manifest = BundleManifest.parse(text, str(path))
            damaged = _damaged_files(file, manifest) if actual != sha256 else ()
    except OSError as error:
        reason = error.strerror or str(error)
        raise _damaged(_("cannot read the bundle {path}: {error}", path=path, error=reason)) from error
    except NewerSchema as error:
        fix = _("use the version of Clusterwright that wrote it, or gather it again with this one")
        raise WrightError.from_code("bundle-newer", str(error), fix) from error
    except (Damaged, tarfile.TarError, ValueError, MemoryError, RecursionError) as error:
        raise _damaged(_("{path} is damaged, or is no bundle", path=path)) from error
    if damaged:
        raise _damaged(_("{path} is damaged; missing or changed: {files}", path=path, files=_named(damaged)))
    if actual != sha256:
        raise WrightError.from_code(
            "bundle-other",
            _(
                "{path} is another bundle than software.bundle names: its SHA-256 is {sha256}",
                path=path,
                sha256=actual,
            ),
            _(
                "compare this SHA-256 with the one that `wright bundle` printed; if the two are "
                "equal, write it into the cluster file"
            ),
        )
    return Bundle(path, manifest, text)


class _HashedFile(io.RawIOBase):
    """A file that is read from its start to its end, with the SHA-256 of all of it."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__()
        self._file, self._hash = file, hashlib.sha256()

    def read(self, size: int = -1, /) -> bytes:
        """Return the next `size` bytes of the file, all of them by default, and add them to its hash."""
        data = self._file.read(size)
        self._hash.update(data)
        return data

    def hexdigest(self) -> str:
        """Read the rest of the file; return the SHA-256 of all of it in hexadecimal."""
        while self.read(1 << 20):
            pass
        return self._hash.hexdigest()


def _manifest_text(archive: tarfile.TarFile) -> bytes:
    header = archive.next()
    file = archive.extractfile(header) if header and header.name == MANIFEST else None
    return file.read(DOCUMENT_BYTES) if file else b""


def _damaged_files(file: IO[bytes], manifest: BundleManifest) -> tuple[str, ...]:
    """Return the files that are missing or differ from the manifest, sorted; after a truncated one, all others."""
    expected = dict(manifest.files)
    file.seek(0)
    with (
        suppress(tarfile.TarError, ValueError),
        tarfile.open(fileobj=file, mode="r:", tarinfo=_BoundedTarInfo) as archive,
    ):
        for entry in archive:
            row = expected.get(entry.name)
            is_whole = row is not None and entry.size == row.size_bytes and not entry.issparse()
            content = archive.extractfile(entry) if is_whole else None
            if row and content and _sha256(content) == row.sha256:
                del expected[entry.name]
    return tuple(sorted(expected))


def _damaged(message: str) -> WrightError:
    fix = _("copy the bundle again from the machine that gathered it, and compare the output of `sha256sum`")
    return WrightError.from_code("bundle-damaged", message, fix)


def _named(names: tuple[str, ...]) -> str:
    more = len(names) - _MAX_NAMED
    listed = ", ".join(names[:_MAX_NAMED])
    return _("{names} and {count} more", names=listed, count=more) if more > 0 else listed


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return _sha256(file)


def _sha256(file: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while data := file.read(1 << 20):
        digest.update(data)
    return digest.hexdigest()
