"""Write rendered trees to disk; only a folder of an earlier render is replaced."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path

from clusterwright.edge.files import write_file_atomic
from clusterwright.edge.own_folders import create_own_folder
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.onhost.lib.trusted_paths import FOREIGN, PathStep

MARKER = ".clusterwright-render"  # marks a folder as a render that may be replaced


def write_tree(folder: Path, files: Mapping[str, Mapping[str, str]]) -> int:
    """Write rendered files `{place: {/path: text}}` as `folder/place/path` and return their number.

    Without fsync: after a power failure the tree is rendered again.

    Raises:
        WrightError: the folder has files that are not from a render.
    """
    parents: set[str] = set()
    with _replacing(folder) as new_tree:
        for subtree, texts in files.items():
            for path, text in texts.items():
                target = _inside(new_tree / subtree, path)
                parent = f"{subtree}{path.rpartition('/')[0]}"
                if parent not in parents:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    parents.add(parent)
                target.write_bytes(text.encode())
    return sum(len(texts) for texts in files.values())


def write_files(folder: Path, files: Mapping[str, tuple[bytes, int]]) -> None:
    """Replace the folder's earlier render by the files `{path: (content, mode)}`.

    Top folders of owner-only files get mode 0700.

    Raises:
        WrightError: the folder has files that are not from a render, or belongs to another user.
    """
    with _replacing(folder) as new_tree:
        for path, (data, mode) in files.items():
            target = _inside(new_tree, path)
            if not mode & 0o077:
                top = new_tree / target.relative_to(new_tree).parts[0]
                top.mkdir(mode=0o700, exist_ok=True)
            write_file_atomic(target, data, mode=mode)


@contextmanager
def _replacing(folder: Path) -> Iterator[Path]:
    """Yield a new folder whose entries replace those of `folder` at the end; if the block raises, nothing changes.

    It is inside of `folder`, which may be a mount point or the current folder.

    Raises:
        WrightError: the folder has files that are not from a render, or another user could exchange its files.
    """
    missing = list(takewhile(lambda path: not path.exists(), (folder, *folder.absolute().parents)))
    try:
        with _replaced(create_own_folder(folder, _refusal)) as new_tree:
            yield new_tree
    except WrightError:  # the folder is not ours to remove
        raise
    except BaseException as error:
        for created in missing:
            with suppress(OSError):
                created.rmdir()
        if isinstance(error, OSError):  # of a full disk: it names no file, or one of the new tree
            error.filename = str(folder)
        raise


@contextmanager
def _replaced(folder: Path) -> Iterator[Path]:
    if any(folder.iterdir()) and not (folder / MARKER).is_file():
        raise WrightError.from_code(
            "render-folder",
            _("{folder} contains files that Clusterwright did not write", folder=folder),
            _("use a new folder, or empty this one"),
            exit_code=EXIT_USAGE,
        )
    new_tree, old_tree = (Path(tempfile.mkdtemp(prefix=prefix, dir=folder)) for prefix in (".new-", ".old-"))
    try:
        (new_tree / MARKER).write_text("The next render replaces this folder.\n", encoding="utf-8")
        yield new_tree
        _exchange(folder, new_tree, old_tree)
    finally:
        shutil.rmtree(new_tree, ignore_errors=True)
        shutil.rmtree(old_tree, ignore_errors=True)


def _exchange(folder: Path, new_tree: Path, old_tree: Path) -> None:
    """Move the entries of the folder into `old_tree` and those of `new_tree` into the folder, or neither."""
    ours = (new_tree, old_tree)
    moves = [(entry, old_tree / entry.name) for entry in folder.iterdir() if entry not in ours]
    moves += [(entry, folder / entry.name) for entry in new_tree.iterdir()]
    replaced: list[tuple[Path, Path]] = []
    try:
        for source, target in moves:
            source.rename(target)
            replaced.append((source, target))
    except BaseException:
        for source, target in reversed(replaced):
            target.rename(source)
        raise


def _refusal(step: PathStep, risk: str) -> WrightError:
    """Return the error of a folder or link that others can exchange; `risk`: FOREIGN or WRITABLE."""
    if risk == FOREIGN:
        message = _("{folder} belongs to another user, who could exchange the files", folder=step.path)
    else:
        message = _("other users may write to {folder} and could exchange the files", folder=step.path)
    return WrightError.from_code(
        "render-folder", message, _("use a new folder in a folder of your own"), exit_code=EXIT_USAGE
    )


def _inside(folder: Path, path: str) -> Path:
    """Return the absolute path `path` as one below the folder; a path with `..` is an internal error."""
    target = folder / path.lstrip("/")
    if ".." in target.parts:
        raise AssertionError(path)
    return target
