"""Write rendered trees to disk; only a folder of an earlier render is replaced."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from clusterwright.edge.files import write_file_atomic
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _

MARKER = ".clusterwright-render"  # marks a folder as a render that may be replaced


def write_tree(folder: Path, files: Mapping[str, Mapping[str, str]]) -> int:
    """Write `{place: {/path: text}}` as `folder/place/path` and return the number of files.

    Without fsync: after a power failure the tree is rendered again.

    Raises:
        WrightError: the folder has files that are not from a render.
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
    """Write `{path: (content, mode)}` below the folder; top folders of owner-only files get mode 0700.

    Raises:
        WrightError: the folder has files that are not from a render.
    """
    _cleared(folder)
    for path, (data, mode) in files.items():
        target = _inside(folder, path)
        if not mode & 0o077:
            top = folder / target.relative_to(folder).parts[0]
            top.mkdir(mode=0o700, exist_ok=True)
        write_file_atomic(target, data, mode=mode)


def _cleared(folder: Path) -> None:
    """Empty the folder of an earlier render and write the marker."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARKER).is_file():
        raise WrightError.from_code(
            "render-folder",
            _("{folder} contains files that `wright render` did not write", folder=folder),
            _("use a new folder, or empty this one"),
            exit_code=EXIT_USAGE,
        )
    for old in folder.iterdir() if folder.is_dir() else ():
        shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
    write_file_atomic(folder / MARKER, "The next render replaces this folder.\n")


def _inside(folder: Path, path: str) -> Path:
    """The path below the folder; a path with .. is a bug."""
    target = folder / path.lstrip("/")
    if ".." in target.parts:
        raise AssertionError(path)
    return target
