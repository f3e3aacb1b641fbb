"""The folder of checkpoints: lists them, creates the folder for partial saves, removes old checkpoints."""

from __future__ import annotations

import math
import re
import secrets
import shutil
from contextlib import suppress
from pathlib import Path

from clusterwright.onhost.lib.files import SCRATCH, rename, replace_link
from clusterwright.runtime.checkpoints import disk, manifest
from clusterwright.runtime.checkpoints.source import Damaged
from clusterwright.runtime.events import log_line

LATEST = "latest"
_UNFINISHED = ".partial-"


def steps(folder: Path) -> list[int]:
    """Return the steps that have a checkpoint folder, newest first, without verifying them; empty without `folder`."""
    try:
        names = [path.name for path in folder.iterdir()]
    except FileNotFoundError:  # any other error is no proof that there are none
        return []
    return sorted((int(name[5:]) for name in names if re.fullmatch(r"step-\d{8,}", name)), reverse=True)


def open_partial_folder(folder: Path, generation: int) -> Path:
    """Create and return the folder for this generation's unfinished saves; remove those of earlier ones.

    A partitioned rank of an earlier generation that still writes loses its folder and so cannot commit its save.

    Raises:
        OSError: the folder cannot be created, or a newer generation has one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    newer = [
        path.name for path in folder.glob(f"{_UNFINISHED}generation-*") if _generation(path) > generation
    ]
    if newer:
        raise OSError(f"generation {generation} was replaced: {newer[0]} belongs to a newer one")
    partial_folder = folder / f"{_UNFINISHED}generation-{generation}-{secrets.token_hex(4)}"
    partial_folder.mkdir()
    for path in (*folder.glob(f"{_UNFINISHED}*"), *folder.glob(f".{LATEST}{SCRATCH}*")):
        if path != partial_folder:
            _discard(path)
    return partial_folder


def remove(path: Path) -> None:
    """Remove the folder of a checkpoint so that no partial one is ever visible under its name."""
    _discard(path)


def point(folder: Path, step: int) -> None:
    """Point the symlink `latest` to this step, for users and other programs; Clusterwright does not read it.

    An OSError is ignored.
    """
    with suppress(OSError):  # a file system without symbolic links
        replace_link(folder / LATEST, manifest.step_name(step))


def _generation(partial_folder: Path) -> int:
    match = re.search(r"generation-(\d+)-", partial_folder.name)
    return int(match[1]) if match else 0


def _discard(path: Path) -> None:
    """Rename the path away, then remove it; nothing if it does not exist."""
    trash = path.with_name(f"{_UNFINISHED}gone-{secrets.token_hex(4)}")
    try:
        rename(path, trash, durable=False)
    except FileNotFoundError:
        return
    if trash.is_symlink() or not trash.is_dir():
        trash.unlink()
    else:
        shutil.rmtree(trash, ignore_errors=True)


class Keeper:
    """Retains the newest N complete checkpoints, the best one, and the newest that was read back and verified.

    Reading back each checkpoint would cost more than writing it, so every N-th save is read back, each part by its
    own rank.
    """

    def __init__(self, folder: Path, save_total_limit: int) -> None:
        self._folder, self._save_total_limit = folder, save_total_limit
        self.verified: set[int] = set()

    def verifies(self, number: int) -> bool:
        """Return True if this save, counted from 0, is to be read back: every N-th, N the checkpoints retained."""
        return number % self._save_total_limit == 0

    def tidy(self) -> None:
        """Remove old checkpoints; a failure to remove one is logged."""
        try:
            self._tidy()
        except OSError as error:
            log_line(f"cannot remove an old checkpoint: {error}")

    def _tidy(self) -> None:
        """Remove checkpoints older than the newest complete ones to retain, of which at least one is verified.

        The best one stays; damaged newer ones stay for inspection until they are old enough.
        """
        all_steps = steps(self._folder)
        complete, anchored = 0, False
        old = []
        for step in all_steps:
            if complete >= self._save_total_limit and anchored:
                old.append(step)
            elif self._complete(step):
                complete += 1
                anchored |= step in self.verified
        best = self._best(all_steps) if old else None
        for step in old:
            if step != best:
                remove(self._folder / manifest.step_name(step))
                self.verified.discard(step)

    def _best(self, all_steps: list[int]) -> int | None:
        """Return the step with the lowest value among complete checkpoints, the newest of several.

        None without values; NaN does not count.
        """
        values = {}
        for step in all_steps:
            saved_manifest = self._complete(step)
            if saved_manifest and saved_manifest.value is not None and not math.isnan(saved_manifest.value):
                values[step] = saved_manifest.value
        return min(values, key=lambda step: (values[step], -step), default=None)

    def _complete(self, step: int) -> manifest.Manifest | None:
        """Return the manifest of a step's checkpoint if that is valid and all files have full length, else None.

        The contents of the files are not read.
        """
        folder = self._folder / manifest.step_name(step)
        try:
            saved_manifest = manifest.read(folder)
            return (
                saved_manifest
                if all((folder / part.file).stat().st_size == part.bytes for part in saved_manifest.parts)
                else None
            )
        except (Damaged, OSError):
            return None


def check(folder: Path) -> manifest.Manifest:
    """Read and verify every byte of a checkpoint, and return its manifest.

    Raises:
        Damaged: a part differs from its checksums, or the manifest is invalid.
        OtherFormat: this version does not read its format.
        OSError: a file cannot be read.
    """
    saved_manifest = manifest.read(folder)
    for part in saved_manifest.parts:
        disk.verify(folder, part)
    return saved_manifest
