"""Write files on this machine atomically."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path

from clusterwright.onhost.lib.files import write_atomic


def write_file_atomic(path: Path, data: bytes | str, *, mode: int | None = 0o644) -> None:
    """Write a file atomically and durably, creating its parent folders; readers see the old or the new content.

    With `mode` None, the umask of the user applies. If it fails, no new folder stays.
    """
    with new_folders(path.parent):
        write_atomic(path, data, mode=mode)


@contextmanager
def new_folders(folder: Path) -> Iterator[None]:
    """Create a folder and its parents; if the block raises, remove those that were missing and are empty."""
    missing = list(takewhile(lambda path: not path.exists(), (folder, *folder.parents)))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for created in missing:
            with suppress(OSError):
                created.rmdir()
        raise
