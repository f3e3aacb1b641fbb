"""A rendered tree on disk: replaced as a whole, and never in the place of something else."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from clusterwright.edge.files import write_file_atomic
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _

MARKER = ".clusterwright-render"  # says that a folder is a render of ours, so that it may be replaced


def write_tree(folder: Path, files: Mapping[str, Mapping[str, str]]) -> int:
    """Write `{place: {/path: text}}` as `folder/place/path`; how many files that were.

    Nothing is waited for to be on disk: what a power cut leaves half is rendered again.

    Raises:
        WrightError: the folder holds something that is no render of ours.
    """
    _cleared(folder)
    parents: set[str] = set()
    for subtree, texts in files.items():
        for path, text in texts.items():
            target = _inside(folder / subtree, path)
            parent = f"{subtree}{path.rpartition('/')[0]}"
            if parent not in parents:
                target.parent.mkdir(parents=True, exist_ok=True)
                parents.add(parent)
            target.write_bytes(text.encode())
    return sum(len(texts) for texts in files.values())


def write_files(folder: Path, files: Mapping[str, tuple[bytes, int]]) -> None:
    """Write `{path: (content, mode)}` below the folder; a folder of what only its owner may read is closed, too.

    Raises:
        WrightError: the folder holds something that is no render of ours.
    """
    _cleared(folder)
    for path, (data, mode) in files.items():
        target = _inside(folder, path)
        if not mode & 0o077:
            top = folder / target.relative_to(folder).parts[0]
            top.mkdir(mode=0o700, exist_ok=True)
        write_file_atomic(target, data, mode=mode)


def _cleared(folder: Path) -> None:
    """The folder is empty but for our mark."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARKER).is_file():
        raise WrightError.from_code(
            "render-folder",
            _("{folder} contains files that `wright render` did not write", folder=folder),
            _("name a new folder, or empty this one"),
            exit_code=EXIT_USAGE,
        )
    for old in folder.iterdir() if folder.is_dir() else ():
        shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
    write_file_atomic(folder / MARKER, "The next render replaces this folder.\n")


def _inside(folder: Path, path: str) -> Path:
    """The path below the folder; one that climbs out is a bug of ours."""
    target = folder / path.lstrip("/")
    if ".." in target.parts:
        raise AssertionError(path)
    return target
