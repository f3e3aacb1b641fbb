"""Copy the files of a bundle that a host lacks to the host, over SSH."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterable, Iterator
from typing import IO

from clusterwright.edge.host import Host
from clusterwright.i18n import _
from clusterwright.onhost.provision.package_bundle import FOLDER
from clusterwright.provision.package_bundle.archive import Bundle, member
from clusterwright.provision.package_bundle.manifest import MANIFEST

PART_BYTES = 16_000_000  # of one connection; 32 connections at once hold 1 GB in memory
PART_S = 600  # seconds for a part
INCOMING = f"{FOLDER}/incoming"  # a file that is larger than a part
_LIST = f"""umask 022
mkdir -p {FOLDER} && chown root:root {FOLDER} && chmod 755 {FOLDER} && cd {FOLDER} || exit 1
if [ "$(sha256sum <{MANIFEST} 2>/dev/null)" = {{digest}}"  -" ]; then echo complete; exit 0; fi
rm -f {MANIFEST}
find . -type f -path './repository/*' -o -type f -path ./key.asc | xargs -r -d '\\n' sha256sum"""
_UNPACK = f"tar -x --no-same-owner --no-same-permissions -f - -C {FOLDER}"


def deliver(bundle: Bundle, host: Host) -> str:
    """Copy a package bundle to the host's folder, its manifest last; return "" on success, else the error.

    Only missing and changed files are sent; other files in the folder are removed.
    """
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
    try:
        for command, data in _parts(bundle, lacking):
            result = host.run_root(f"umask 022; {command}", stdin=data, timeout_s=PART_S)
            if not result.ok:
                return _failure(result.last_lines())
    except ChangedBundleError as error:
        return str(error)
    written = host.upload_file(f"{FOLDER}/{MANIFEST}", bundle.manifest_text)
    return "" if written.ok else _failure(written.last_lines())


def _rows(output: str) -> Iterator[tuple[str, str]]:
    """Yield path and SHA-256 from the output of sha256sum."""
    for line in output.splitlines():
        digest, _space, path = line.partition("  ")
        yield path.removeprefix("./"), digest


class ChangedBundleError(Exception):
    """Another process has exchanged or changed the bundle since it was compared with `software.bundle`."""

    def __init__(self, bundle: Bundle) -> None:
        super().__init__(_("{path} was changed while it was copied. Run the command again", path=bundle.path))


def _parts(bundle: Bundle, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield commands with their input, each about PART_BYTES: many small files, or a part of a large one.

    Raises:
        ChangedBundleError: a file is not the one of the manifest.
    """
    missing = dict.fromkeys(names)
    batch: list[tuple[str, bytes]] = []
    batch_bytes = 0
    for name, size_bytes, content in bundle.open_files(missing):
        sha256 = bundle.manifest.files[name].sha256
        missing.pop(name, None)
        if size_bytes > PART_BYTES:
            yield from _large(bundle, name, content, sha256)
            continue
        if batch and batch_bytes + size_bytes > PART_BYTES:
            yield _UNPACK, _tar(batch)
            batch, batch_bytes = [], 0
        data = content.read()
        if hashlib.sha256(data).hexdigest() != sha256:
            raise ChangedBundleError(bundle)
        batch.append((name, data))
        batch_bytes += size_bytes
    if batch:
        yield _UNPACK, _tar(batch)
    if missing:
        raise ChangedBundleError(bundle)


def _large(bundle: Bundle, name: str, content: IO[bytes], sha256: str) -> Iterator[tuple[str, bytes]]:
    digest = hashlib.sha256()
    yield f"rm -f {INCOMING}", b""
    while part := content.read(PART_BYTES):
        digest.update(part)
        yield f"cat >>{INCOMING}", part
    if digest.hexdigest() != sha256:
        yield f"rm -f {INCOMING}", b""
        raise ChangedBundleError(bundle)
    path = f"{FOLDER}/{name}"
    yield f"mkdir -p {path.rpartition('/')[0]} && mv {INCOMING} {path}", b""


def _tar(files: Iterable[tuple[str, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files:
            archive.addfile(member(name, len(content)), io.BytesIO(content))
    return buffer.getvalue()


def _failure(reason: str) -> str:
    return _(
        "the package bundle could not be copied to {folder}: {reason}. Free space there, then run the command again",
        folder=FOLDER,
        reason=reason,
    )
