"""Write files on this machine atomically."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path

from clusterwright.i18n import _
from clusterwright.onhost.lib.files import write_atomic
from clusterwright.onhost.lib.safe_reader import read_text


def cache_folder() -> Path:
    """Return the user's folder for what can be made again: `clusterwright` in $XDG_CACHE_HOME, else in ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "clusterwright"


def read_cached(path: Path, most_bytes: int) -> str:
    """Return the content of a file in the user's cache.

    Raises:
        PermissionError: another user could have written it, as where $XDG_CACHE_HOME is below /tmp.
        OSError: it cannot be read, is not regular, or is larger.
    """
    from clusterwright.edge.own_folders import exchangeable_step

    if step := exchangeable_step(path):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), step)
    return read_text(path, most_bytes)


def write_file_atomic(path: Path, data: bytes | str, *, mode: int | None = 0o644) -> None:
    """Write a file atomically and durably, creating its parent folders; readers see the old or the new content.

    With `mode` None, the umask of the user applies. If it fails, no new folder stays.

    Raises:
        OSError: the file cannot be written, or the path is a device or pipe, which a file must not replace.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OSError(errno.EPERM, _("the path is a device or a pipe, not a file"), str(path))
    with new_folders(path.parent):
        write_atomic(path, data, mode=mode)


@contextmanager
def new_folders(folder: Path) -> Iterator[None]:
    """Create a folder and its parents for a `with` block; if that raises, remove those that were new and are empty."""
    missing = list(takewhile(lambda path: not path.exists(), (folder, *folder.parents)))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for created in missing:
            with suppress(OSError):
                created.rmdir()
        raise
