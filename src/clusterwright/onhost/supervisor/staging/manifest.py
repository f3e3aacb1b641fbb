"""The content of a folder: every file with size and modification time. Equal manifests mean equal data."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from itertools import islice
from typing import Dict, Iterator, List, Optional, Tuple, Union

BLOCK = 4096  # bytes of a file-system block, the least that a file takes

Row = Tuple[str, int, int]  # path below the folder, bytes, modification time in ns
# Of a folder nothing, of a link its target, of a file its bytes and modification time in ns.
Content = Union[None, str, Tuple[int, int]]


class Manifest:
    """What a folder contains: its files, sorted, its symbolic links and its subfolders."""

    def __init__(self, files: List[Row], links: Dict[str, str], folders: List[str]) -> None:
        self.files, self.links, self.folders = files, links, folders

    @property
    def disk_bytes(self) -> int:
        """Return the bytes that a copy of the folder takes on disk."""
        file_bytes = sum(-(-size // BLOCK) * BLOCK for _path, size, _when in self.files)
        return file_bytes + BLOCK * (len(self.folders) + len(self.links) + 1)

    @property
    def size(self) -> int:
        """Return the bytes of all files of the folder."""
        return sum(size for _path, size, _when in self.files)

    def digest(self, path: str) -> str:
        """Return a hash of a path and this manifest, which names the folder's copy."""
        text = json.dumps([path, self.files, self.links, self.folders], sort_keys=True)
        return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:20]


def manifest_of(folder: str) -> Manifest:
    """Return the manifest of a folder: its files, links and subfolders.

    Raises:
        OSError: the folder is missing, is not a folder, or cannot be read.
    """
    manifest = Manifest([], {}, [])
    for path, content in _below(folder):
        if isinstance(content, str):
            manifest.links[path] = content
        elif content is None:
            manifest.folders.append(path)
        else:
            manifest.files.append((path, *content))
    return manifest


def is_equal(manifest: Manifest, folder: str) -> bool:
    """Return True if the folder has exactly the content of the manifest; reading stops at the first difference.

    Of a folder with more entries than the manifest only so many are read: it may be another user's, with millions.

    Raises:
        OSError: the folder is missing, is not a folder, or cannot be read.
    """
    files = {path: (size, time_ns) for path, size, time_ns in manifest.files}
    expected = {**files, **manifest.links, **dict.fromkeys(manifest.folders)}  # type: Dict[str, Content]
    for path, content in _below(folder, len(expected) + 1):
        if path not in expected or expected.pop(path) != content:
            return False
    return not expected


def _below(folder: str, limit: int = sys.maxsize) -> "Iterator[Tuple[str, Content]]":
    """Yield everything below the folder, sorted by name, with its content; links are not followed.

    At most `limit` entries of each folder; pipes, sockets and devices are no data.
    """
    waiting = [_sorted_entries(folder, "", limit)]
    while waiting:
        path, entry = next(waiting[-1], ("", None))
        if entry is None:
            waiting.pop()
        elif entry.is_symlink():
            yield path, os.readlink(entry.path)
        elif entry.is_dir():
            yield path, None
            waiting.append(_sorted_entries(entry.path, path + "/", limit))
        else:
            status = entry.stat()
            yield path, (status.st_size, status.st_mtime_ns)


def _sorted_entries(
    folder: str, prefix: str, limit: int
) -> "Iterator[Tuple[str, Optional[os.DirEntry[str]]]]":
    with os.scandir(folder) as entries:
        rows = sorted(islice(filter(_is_data, entries), limit), key=lambda entry: entry.name)
    return iter([(prefix + entry.name, entry) for entry in rows])


def _is_data(entry: "os.DirEntry[str]") -> bool:
    return entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False) or entry.is_symlink()
