"""Many small files at once, for a host that has not booted: nobody reads them yet, so none is waited for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_files(folder: Path, files: Mapping[str, str | bytes], *, mode: int = 0o644) -> None:
    """The files are there, by their path in the folder, and everybody may read them."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        target.chmod(mode)
    for parent in {parent for path in files for parent in Path(path).parents}:
        (folder / parent).chmod(0o755)
