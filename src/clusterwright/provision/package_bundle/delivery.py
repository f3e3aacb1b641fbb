"""Copy the files of a bundle that a host lacks to the host, over SSH."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable, Iterator, Mapping

from clusterwright.edge.host import Host
from clusterwright.i18n import _
from clusterwright.onhost.provision.package_bundle import FOLDER
from clusterwright.provision.package_bundle.archive import Bundle, member
from clusterwright.provision.package_bundle.manifest import MANIFEST, BundledFile

PART_BYTES = 64_000_000  # of one connection: what 32 connections at once hold in memory stays below 3 GB
PART_S = 900  # seconds for a part
# Files, links and owners that root did not write are no part of a bundle.
_LIST = f"""umask 022
mkdir -p {FOLDER} && chown root:root {FOLDER} && chmod 755 {FOLDER} && cd {FOLDER} || exit 1
if [ "$(sha256sum <{MANIFEST} 2>/dev/null)" = {{digest}}"  -" ]; then echo complete; exit 0; fi
rm -f {MANIFEST}
find . -type f -path './repository/*' -o -type f -path ./key.asc | xargs -r -d '\\n' sha256sum"""
_UNPACK = f"umask 022; tar -x --no-same-owner --no-same-permissions -f - -C {FOLDER}"


def deliver(bundle: Bundle, host: Host) -> str:
    """Make the host's folder equal to the bundle, its manifest last; return why that failed, "" if it did not."""
    listed = host.run_root(_LIST.format(digest=bundle.digest), timeout_s=PART_S)
    if not listed.ok:
        return _failure(listed.last_lines())
    if listed.out.strip() == "complete":
        return ""
    present = dict(_rows(listed.out))
    lacking = [name for name, row in bundle.manifest.files.items() if present.get(name) != row.sha256]
    obsolete = sorted(present.keys() - bundle.manifest.files.keys())
    if obsolete:
        removed = host.run_root(f"cd {FOLDER} && xargs -d '\\n' rm -f --", stdin="\n".join(obsolete).encode())
        if not removed.ok:
            return _failure(removed.last_lines())
    for part in _parts(lacking, bundle.manifest.files):
        unpacked = host.run_root(_UNPACK, stdin=_tar(bundle.read_files(part)), timeout_s=PART_S)
        if not unpacked.ok:
            return _failure(unpacked.last_lines())
    written = host.upload_file(f"{FOLDER}/{MANIFEST}", bundle.manifest_text)
    return "" if written.ok else _failure(written.last_lines())


def _rows(output: str) -> Iterator[tuple[str, str]]:
    """Yield path and SHA-256 from the output of sha256sum."""
    for line in output.splitlines():
        digest, _space, path = line.partition("  ")
        yield path.removeprefix("./"), digest


def _parts(names: Iterable[str], files: Mapping[str, BundledFile]) -> Iterator[list[str]]:
    """Group files into parts of about PART_BYTES each."""
    part: list[str] = []
    size = 0
    for name in names:
        if part and size + files[name].size_bytes > PART_BYTES:
            yield part
            part, size = [], 0
        part.append(name)
        size += files[name].size_bytes
    if part:
        yield part


def _tar(files: Iterable[tuple[str, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files:
            archive.addfile(member(name, len(content)), io.BytesIO(content))
    return buffer.getvalue()


def _failure(reason: str) -> str:
    return _(
        "the package bundle could not be copied to {folder}: {reason}. Free space there, then run apply again",
        folder=FOLDER,
        reason=reason,
    )
