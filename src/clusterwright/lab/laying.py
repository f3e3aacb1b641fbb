"""Write many small files into a host that has not booted; without fsync, as nothing reads them yet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_files(folder: Path, files: Mapping[str, str | bytes], *, mode: int = 0o644) -> None:
    """Write files, with contents by path in the folder, with this mode; their folders become readable for all."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        target.chmod(mode)
    for parent in {parent for path in files for parent in Path(path).parents}:
        (folder / parent).chmod(0o755)
