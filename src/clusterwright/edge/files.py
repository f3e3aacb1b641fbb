"""Write files on this machine atomically."""

from __future__ import annotations

from pathlib import Path

from clusterwright.onhost.lib.files import write_atomic


def write_file_atomic(path: Path, data: bytes | str, *, mode: int | None = 0o644) -> None:
    """Write a file atomically and durably, creating its parent folders; readers see the old or the new content.

    With `mode` None, the umask of the user applies.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, data, mode=mode)
