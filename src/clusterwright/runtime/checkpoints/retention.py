"""The folder of checkpoints: which there are, where they are made, and which of them go."""

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
    """The steps that have a folder, newest first; none of them need be good."""
    names = [path.name for path in folder.iterdir()] if folder.exists() else []
    return sorted((int(name[5:]) for name in names if re.fullmatch(r"step-\d{8,}", name)), reverse=True)


def open_partial_folder(folder: Path, generation: int) -> Path:
    """Where this generation's saves are made, until they get their names; all earlier rooms are gone with it.

    A rank that was given up and still writes has lost its folder then, and with it every way to a name of its own.

    Raises:
        OSError: there is no room to be had, or a newer generation has one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    newer = [
        path.name for path in folder.glob(f"{_UNFINISHED}generation-*") if _generation(path) > generation
    ]
    if newer:
        raise OSError(f"generation {generation} was given up: {newer[0]} is a newer one's")
    partial_folder = folder / f"{_UNFINISHED}generation-{generation}-{secrets.token_hex(4)}"
    partial_folder.mkdir()
    for path in (*folder.glob(f"{_UNFINISHED}*"), *folder.glob(f".{LATEST}{SCRATCH}*")):
        if path != partial_folder:
            _discard(path)
    return partial_folder


def remove(path: Path) -> None:
    """Remove a checkpoint so that no half of one can be met under its name."""
    _discard(path)


def point(folder: Path, step: int) -> None:
    """`latest` leads to this step, for people and other programs; nothing here ever follows it."""
    with suppress(OSError):  # a file system without symbolic links
        replace_link(folder / LATEST, manifest.step_name(step))


def _generation(partial_folder: Path) -> int:
    match = re.search(r"generation-(\d+)-", partial_folder.name)
    return int(match[1]) if match else 0


def _discard(path: Path) -> None:
    """First out of the way by one rename, then removed."""
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
    """Keeps the newest N checkpoints that are complete, the best one, and always one that was read back and verified.

    Reading each of them back would cost a training more than writing them; so every N-th save is read back, each
    part by its own rank, and until then the last one that was stays, whatever its age.
    """

    def __init__(self, folder: Path, save_total_limit: int) -> None:
        self._folder, self._save_total_limit = folder, save_total_limit
        self.verified: set[int] = set()

    def verifies(self, number: int) -> bool:
        """Whether this save, counted from 0, is one to read back."""
        return number % self._save_total_limit == 0

    def tidy(self) -> None:
        """See to the old ones; what cannot be removed is said and stays."""
        try:
            self._tidy()
        except OSError as error:
            log_line(f"an old checkpoint stays: {error}")

    def _tidy(self) -> None:
        """Remove what is older than what is kept; with less than that, remove nothing.

        Bad ones that are newer stay for whoever wants to know why; they go with their age, like the good.
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
        """The newest of those with the lowest value."""
        values = {}
        for step in all_steps:
            saved_manifest = self._complete(step)
            if saved_manifest and saved_manifest.value is not None and not math.isnan(saved_manifest.value):
                values[step] = saved_manifest.value
        return min(values, key=lambda step: (values[step], -step), default=None)

    def _complete(self, step: int) -> manifest.Manifest | None:
        """The manifest, if every file is there in its full length."""
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
    """The manifest of a checkpoint whose every byte has been read and found as saved."""
    saved_manifest = manifest.read(folder)
    for part in saved_manifest.parts:
        disk.verify(folder, part)
    return saved_manifest
