"""The library of jobs on a cluster where nothing is installed: one copy of each version beside the user's runs."""

from __future__ import annotations

import hashlib
import io
import shlex
import tarfile
from functools import cache
from typing import TYPE_CHECKING

from clusterwright.edge import slurm
from clusterwright.edge.bundler import library

if TYPE_CHECKING:
    from clusterwright.edge.host import Host

_FOLDER = ".library"
_SEND_S = 120.0


def library_folder(runs: str) -> str:
    """Return the folder of this version's library in the folder of runs; another version has another folder."""
    return f"{runs}/{_FOLDER}/{_digest()}"


def install_library(host: Host, runs: str) -> None:
    """Write the library on the login host, as a whole or not at all, unless it is there.

    Raises:
        WrightError: the host does not answer, or the folder cannot be written.
    """
    folder = library_folder(runs)
    if host.run(f"test -d {shlex.quote(folder)}").ok:
        return
    parent, name = (shlex.quote(part) for part in folder.rsplit("/", 1))
    line = (
        f"umask 022 && mkdir -p {parent} && cd {parent} && new=$(mktemp -d) && tar -xz -C $new && chmod 755 $new"
        f" && {{ mv -T $new {name} 2>/dev/null || rm -r $new; }} && test -d {name}"
    )
    slurm.checked(host.run(line, stdin=_archive(), timeout_s=_SEND_S), host.name, "tar")


@cache
def _digest() -> str:
    digest = hashlib.sha256()
    for path, text in sorted(library().items()):
        digest.update(f"{path}\0{text}\0".encode())
    return digest.hexdigest()[:16]


def _archive() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path, text in sorted(library().items()):
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(data := text.encode()), 0o644
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()
