"""The content of a folder: every file with size and modification time. Equal manifests mean equal data."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from typing import Dict, Iterator, List, Tuple

BLOCK = 4096  # bytes of a file-system block, the least that a file takes

Row = Tuple[str, int, int]  # path below the folder, bytes, modification time in ns


class Manifest:
    """What a folder contains: its files, sorted, its symbolic links and its subfolders."""

    def __init__(self, files: List[Row], links: Dict[str, str], folders: List[str]) -> None:
        self.files, self.links, self.folders = files, links, folders

    @property
    def disk_bytes(self) -> int:
        """Bytes that a copy takes on disk."""
        file_bytes = sum(-(-size // BLOCK) * BLOCK for _path, size, _when in self.files)
        return file_bytes + BLOCK * (len(self.folders) + len(self.links) + 1)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(size for _path, size, _when in self.files)

    def digest(self, path: str) -> str:
        """Return a hash of the path and the manifest, which names the copy."""
        text = json.dumps([path, self.files, self.links, self.folders], sort_keys=True)
        return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:20]


def manifest_of(folder: str) -> Manifest:
    """Read the manifest of a folder.

    Raises:
        OSError: the folder is missing, is not a folder, or cannot be read.
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
    """Yield everything below the folder, sorted by name; links are not followed."""
    with os.scandir(folder) as entries:
        rows = sorted(entries, key=lambda entry: entry.name)
    for entry in rows:
        path = prefix + entry.name
        yield path, entry
        if entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path, path + "/")
