"""Refuse a file or folder that is of another kind than a command reads, and name the command that takes it."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.config.file_kinds import FileKind

_MOST_NAMES = 1000  # of a folder


def find_kind(path: Path) -> FileKind | None:
    """Return what an existing file or folder is; None if that is not known, or if it cannot be read."""
    from clusterwright.config.file_kinds import HEAD, kind_of_file, kind_of_folder
    from clusterwright.file_arguments import DESCRIPTOR, read_argument

    try:
        if path.is_dir():
            return kind_of_folder(path, [entry.name for entry in islice(path.iterdir(), _MOST_NAMES)])
        if DESCRIPTOR.fullmatch(str(path)) or not path.is_file():
            return None
        return kind_of_file(path, read_argument(path, HEAD))
    except OSError:
        return None


def require_file_kind(path: Path, needed: str, *accepted: str) -> None:
    """Raise WrightError if a file or folder is of a known kind that is not accepted; `needed`: what is, for people.

    Raises:
        WrightError: `other-file`.
    """
    from clusterwright.config.file_kinds import wrong_kind
    from clusterwright.errors import EXIT_USAGE, WrightError

    kind = find_kind(path)
    if kind and kind.kind not in accepted:
        raise WrightError(wrong_kind(path, kind, needed), exit_code=EXIT_USAGE)
