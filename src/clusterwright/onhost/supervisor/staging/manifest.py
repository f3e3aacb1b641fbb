"""What a folder holds: every file with its size and time of change. Two manifests that are equal are the same data."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from typing import Dict, Iterator, List, Tuple

BLOCK = 4096  # of a file system: what a small file takes of it

Row = Tuple[str, int, int]  # path below the folder, bytes, time of the last change in ns


class Manifest:
    """The files of a folder in order, its links and its folders."""

    def __init__(self, files: List[Row], links: Dict[str, str], folders: List[str]) -> None:
        self.files, self.links, self.folders = files, links, folders

    @property
    def disk_bytes(self) -> int:
        """Bytes that a copy takes."""
        file_bytes = sum(-(-size // BLOCK) * BLOCK for _path, size, _when in self.files)
        return file_bytes + BLOCK * (len(self.folders) + len(self.links) + 1)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(size for _path, size, _when in self.files)

    def digest(self, path: str) -> str:
        """A word for what is in `path` now."""
        text = json.dumps([path, self.files, self.links, self.folders], sort_keys=True)
        return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:20]


def manifest_of(folder: str) -> Manifest:
    """What the folder holds now.

    Raises:
        OSError: it is not there, is no folder, or cannot be read.
    """
    manifest = Manifest([], {}, [])
    for path, entry in _below(folder, ""):
        if entry.is_symlink():
            manifest.links[path] = os.readlink(entry.path)
        elif entry.is_dir():
            manifest.folders.append(path)
        else:
            status = entry.stat()
            if stat.S_ISREG(status.st_mode):
                manifest.files.append((path, status.st_size, status.st_mtime_ns))
    return manifest


def _below(folder: str, prefix: str) -> "Iterator[Tuple[str, os.DirEntry[str]]]":
    """Everything in it, in the order of names; links are not followed."""
    with os.scandir(folder) as entries:
        rows = sorted(entries, key=lambda entry: entry.name)
    for entry in rows:
        path = prefix + entry.name
        yield path, entry
        if entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path, path + "/")
