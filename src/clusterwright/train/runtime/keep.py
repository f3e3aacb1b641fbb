"""Old checkpoints go, once enough newer ones have been read back and found good."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from clusterwright.train.runtime import manifest, part
from clusterwright.train.runtime.events import say
from clusterwright.train.runtime.part import Damaged

_UNFINISHED = ".partial-"


def partial(folder: Path, step: int, generation: int) -> Path:
    """Where a save is made; the generation keeps a straggler of an earlier one out."""
    return folder / f"{_UNFINISHED}{manifest.step_name(step)}-{generation}"


def steps(folder: Path) -> list[int]:
    """The steps that have a folder, newest first; none of them need be good."""
    names = [path.name for path in folder.iterdir()] if folder.exists() else []
    return sorted((int(name[5:]) for name in names if re.fullmatch(r"step-\d{8,}", name)), reverse=True)


def clear(folder: Path) -> None:
    """Remove what interrupted saves and removals have left."""
    for path in folder.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(path, ignore_errors=True)


def remove(path: Path) -> None:
    """Remove a checkpoint so that no half of one can be met under its name."""
    gone = path.with_name(f"{_UNFINISHED}gone-{path.name}")
    shutil.rmtree(gone, ignore_errors=True)
    path.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


class Keeper:
    """Keeps the newest N good checkpoints. Each is read back once; reading it for a resume counts."""

    def __init__(self, folder: Path, keep: int) -> None:
        self._folder, self._keep = folder, keep
        self.good: set[int] = set()
        self.bad: set[int] = set()

    def tidy(self) -> None:
        """See to the old ones; what cannot be removed is said and stays."""
        try:
            self._tidy()
        except OSError as error:
            say(f"an old checkpoint stays: {error}")

    def _tidy(self) -> None:
        """Remove what is older than the newest N good ones; with fewer than N good ones, remove nothing.

        Bad ones that are newer stay for whoever wants to know why; they go with their age, like the good.
        """
        found = steps(self._folder)
        good = 0
        for step in found:
            if good == self._keep:
                remove(self._folder / manifest.step_name(step))
                self.good.discard(step)
            else:
                good += self._is_good(step)

    def _is_good(self, step: int) -> bool:
        if step not in self.good | self.bad:
            try:
                check(self._folder / manifest.step_name(step))
                self.good.add(step)
            except (Damaged, OSError):
                self.bad.add(step)
        return step in self.good


def check(folder: Path) -> manifest.Manifest:
    """The manifest of a checkpoint whose every byte has been read and found as saved."""
    said = manifest.read(folder)
    for each in said.parts:
        part.verify(folder, each)
    return said
