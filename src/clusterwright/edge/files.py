"""Files on this machine: written whole or not at all, in folders that come with them."""

from __future__ import annotations

from pathlib import Path

from clusterwright.onhost.lib.files import write_atomic


def write_file_atomic(path: Path, data: bytes | str, *, mode: int = 0o644) -> None:
    """Write the file, and the folders above it; it outlasts a crash, and a reader sees the old file or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, data, mode=mode)
