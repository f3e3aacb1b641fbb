"""The code of a run as it is when the run is submitted: one archive, named by what is in it."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from clusterwright.config.job import Code
from clusterwright.edge.processes import output
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.units import format_size

# Made anew by whoever needs them, or never part of a program; only where git does not tell.
USUAL = (
    ".git",
    "__pycache__",
    "*.pyc",
    ".venv",
    "venv",
    "node_modules",
    ".mypy_cache",
    ".pytest_cache",
    "runs",
)
GIT = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
MAX_LISTED = 5  # of the largest files, where there is too much


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An archive (tar, gzip); the same files give the same digest, whenever and wherever it is made."""

    digest: str
    data: bytes
    names: frozenset[str]

    def unpack(self, folder: Path) -> None:
        """The files, in a new folder."""
        folder.mkdir()
        with tarfile.open(fileobj=io.BytesIO(self.data), mode="r:gz") as tar:
            tar.extractall(folder, filter="data")


def snapshot(code: Code, base_folder: Path) -> Snapshot:
    """The folder's files, as git sees them where it does.

    Raises:
        WrightError: there is no such folder, nothing is in it, or more than the limit.
    """
    top = (base_folder / code.folder).resolve()
    if not top.is_dir():
        raise _refused(
            "code-folder",
            _("there is no folder {top} to copy the code from", top=top),
            _("name one: `code: {folder: .}`"),
        )
    names = [name for name in _listed(top) if not _left_out(name, code.exclude)]
    if not names:
        raise _refused(
            "code-folder", _("nothing in {top} is to be copied", top=top), _("name the folder of the code")
        )
    _check_size(top, names, code.limit)
    archive = _archive(top, names)
    packed = gzip.compress(archive, compresslevel=3, mtime=0)
    return Snapshot(hashlib.sha256(archive).hexdigest(), packed, frozenset(names))


def _listed(top: Path) -> list[str]:
    """Paths below the folder: what git tracks or would, else all but the usual leavings."""
    tracked = output((*GIT, "."), cwd=top)
    if tracked is not None:
        names = os.fsdecode(tracked).split("\0")
        return sorted({name for name in names if name and (top / name).is_file()})
    paths = []
    for folder, inner, files in os.walk(top):
        inner[:] = [name for name in inner if not _left_out(name, USUAL)]
        paths += [os.path.relpath(Path(folder, name), top) for name in files if not _left_out(name, USUAL)]
    return sorted(name for name in paths if (top / name).is_file())


def _left_out(name: str, patterns: Sequence[str]) -> bool:
    """Whether the path, a folder above it or its last part is named."""
    parts = name.split("/")
    above = ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
    return any(fnmatch(part, pattern.rstrip("/")) for pattern in patterns for part in (*above, *parts))


def _check_size(top: Path, names: Sequence[str], limit: int) -> None:
    sizes = {name: (top / name).stat().st_size for name in names}
    if (total := sum(sizes.values())) <= limit:
        return
    largest = sorted(sizes, key=lambda name: -sizes[name])[:MAX_LISTED]
    largest_text = ", ".join(f"{name} ({format_size(sizes[name])})" for name in largest)
    raise _refused(
        "code-too-large",
        _(
            "{top} holds {size}, and a run takes {size2} of code; the largest: {largest_text}",
            top=top,
            size=format_size(total),
            size2=format_size(limit),
            largest_text=largest_text,
        ),
        _(
            "keep data on shared storage; leave files out with .gitignore or `code: {exclude: "
            "[data]}`, or raise `limit`"
        ),
    )


def _archive(top: Path, names: Sequence[str]) -> bytes:
    """Times and owners are left out, so that only what is in the files counts."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT, dereference=True) as tar:
        for name in names:
            entry = tar.gettarinfo(str(top / name), arcname=name)
            entry.mtime = entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mode = 0o755 if entry.mode & 0o100 else 0o644
            entry.type, entry.linkname = tarfile.REGTYPE, ""  # a second name of the same file, too
            data = (top / name).read_bytes()
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def _refused(code: str, message: str, fix: str) -> WrightError:
    return WrightError.from_code(code, message, fix, exit_code=EXIT_USAGE)
