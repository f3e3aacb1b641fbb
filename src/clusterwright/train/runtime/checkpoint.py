"""Checkpoints: saved by all ranks together, whole or not at all; loaded only after every byte was verified.

    step-00000100/
      part-00000-of-00004.safetensors   one file a rank
      manifest.json                     written last: step, world size, and size and checksum of each file

State that all ranks have alike is written once: large tensors are dealt out over the ranks, so that the disk
sees all of them at work; everything else is rank 0's. Each rank adds its own random states. A save goes into
a folder that starts with a dot and gets its name when it is whole and on disk.
"""

from __future__ import annotations

import shutil
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from clusterwright.train.runtime import keep, manifest, part, tree
from clusterwright.train.runtime.group import Group
from clusterwright.train.runtime.part import Damaged, Part

# Buffers (of BatchNorm, say) may differ between ranks, and rank 0's are those that count; they are smaller
# than this.
_DEALT_FROM_BYTES = 1 << 20


@dataclass(frozen=True)
class Saved:
    """How a save went; `why` says what was in its way, and then nothing was left behind."""

    seconds: float
    bytes: int
    why: str | None = None


@dataclass(frozen=True)
class Loaded:
    """A checkpoint that was read and verified; `local` is None when the number of ranks has changed."""

    step: int
    shared: dict[str, Any]
    local: dict[str, Any] | None


@dataclass(frozen=True)
class Skipped:
    """A checkpoint that some rank could not use, and why; not `damaged` when it could not even be read."""

    step: int
    why: str
    damaged: bool


class Checkpoints:
    """The checkpoints in one folder; all ranks call the same things in the same order."""

    def __init__(self, folder: Path, group: Group, *, kept: int, generation: int = 0) -> None:
        self._folder, self._group, self._generation = folder, group, generation
        self._keeper = keep.Keeper(folder, kept)
        self._tidying: threading.Thread | None = None

    def save(self, step: int, shared: dict[str, Any], local: dict[str, Any]) -> Saved:
        """Save what all ranks share and this rank's own; on a full disk the old ones stay as they are."""
        begun = time.perf_counter()
        self.settle()
        partial = keep.partial(self._folder, step, self._generation)
        problem = self._group.share(_attempt(self._make_room, partial))
        made: Part | str = problem or ""
        if not problem:
            made = _attempt_part(partial, self._own(shared, local), self._group)
        parts = self._group.gather(made)
        problem = next((str(each) for each in parts if not isinstance(each, Part)), None)
        said = manifest.Manifest(
            step, self._group.world_size, torch.__version__, time.time(),
            tuple(each for each in parts if isinstance(each, Part)),
        )  # fmt: skip
        problem = self._group.share(problem or _attempt(self._commit, partial, said))
        if self._group.rank == 0:
            self._after(partial, failed=bool(problem))
        return Saved(time.perf_counter() - begun, said.bytes, problem)

    def newest(self) -> tuple[Loaded | None, list[Skipped]]:
        """The newest good checkpoint, the same on all ranks, and the newer ones that are no good.

        One that any rank finds damaged, or cannot read, is passed over by all and stays where it is.
        """
        if self._group.rank == 0:
            keep.clear(self._folder)
        skipped: list[Skipped] = []
        for step in self._group.share(keep.steps(self._folder)):
            found = self._try_to_load(step)
            problems = [each for each in self._group.gather(_problem(found)) if each]
            if isinstance(found, Loaded) and not problems:
                self._keeper.good.add(step)
                return found, skipped
            skipped.append(problems[0])
        return None, skipped

    def settle(self) -> None:
        """Wait until the old checkpoints have been seen to."""
        if self._tidying:
            self._tidying.join()
            self._tidying = None

    def _try_to_load(self, step: int) -> Loaded | Skipped:
        try:
            folder = self._folder / manifest.step_name(step)
            return Loaded(step, *load(folder, self._group.rank, self._group.world_size))
        except (Damaged, OSError) as error:
            return Skipped(step, f"rank {self._group.rank}: {error}", damaged=isinstance(error, Damaged))

    def _own(self, shared: dict[str, Any], local: dict[str, Any]) -> dict[str, torch.Tensor]:
        """This rank's share: what it was dealt, and its own."""
        tensors: dict[str, torch.Tensor] = {}
        rest = tree.apart(shared, "", tensors)
        own = {name: tensors[name] for name in deal(tensors, self._group.world_size)[self._group.rank]}
        own["rank"] = tree.pack(local)
        if self._group.rank == 0:
            own["tree"] = tree.pack(rest)
        return own

    def _make_room(self, partial: Path) -> None:
        if self._group.rank == 0:
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)

    def _commit(self, partial: Path, said: manifest.Manifest) -> None:
        if self._group.rank != 0:
            return
        manifest.write(partial, said)
        final = self._folder / manifest.step_name(said.step)
        if final.exists():  # a bad one of the same step, which this run has passed over
            keep.remove(final)
        partial.rename(final)
        manifest.sync_folder(self._folder)
        self._keeper.bad.discard(said.step)

    def _after(self, partial: Path, *, failed: bool) -> None:
        """A failed save leaves nothing; after a good one the old are seen to, while training goes on."""
        if failed:
            shutil.rmtree(partial, ignore_errors=True)
        else:
            self._tidying = threading.Thread(target=self._keeper.tidy, name="tidy-checkpoints")
            self._tidying.start()


def deal(tensors: dict[str, torch.Tensor], ranks: int) -> list[list[str]]:
    """Names by rank: the largest first, each to the rank that has least; alike on all ranks."""
    hands: list[list[str]] = [[] for _ in range(ranks)]
    heights = [0] * ranks
    for name, size in sorted(
        ((name, t.numel() * t.element_size()) for name, t in tensors.items()), key=_largest_first
    ):
        rank = heights.index(min(heights)) if size >= _DEALT_FROM_BYTES else 0
        hands[rank].append(name)
        heights[rank] += size
    return hands


def load(
    folder: Path, rank: int = 0, world_size: int | None = None
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """What was saved: the shared state, and the rank's own if the number of ranks is still the same."""
    said = manifest.read(folder)
    tensors: dict[str, torch.Tensor] = {}
    local = None
    for index, each in enumerate(said.parts):
        found = part.read(folder, each)
        own = found.pop("rank")
        if index == rank and said.world_size == world_size:
            local = tree.unpack(own)
        tensors.update(found)
    rest = tree.unpack(tensors.pop("tree"))
    return tree.together(rest, tensors), local


def _largest_first(entry: tuple[str, int]) -> tuple[int, str]:
    return -entry[1], entry[0]


def _attempt(act: Any, *arguments: Any) -> str | None:
    """What was in the way, as text that can be sent to the others."""
    try:
        act(*arguments)
    except OSError as error:
        return str(error)
    return None


def _attempt_part(partial: Path, tensors: dict[str, torch.Tensor], group: Group) -> Part | str:
    name = f"part-{group.rank:05d}-of-{group.world_size:05d}.safetensors"
    try:
        return part.write(partial / name, tensors)
    except OSError as error:
        return f"rank {group.rank}: {error}"


def _problem(found: Loaded | Skipped) -> Skipped | None:
    return found if isinstance(found, Skipped) else None
