"""Checkpoints: saved behind the training's back, whole or not at all; loaded only after every byte was verified.

    step-00000100/
      part-00000-of-00004.safetensors   one file a rank
      manifest.json                     written last: step, world size, and size and checksum of each file
    latest                              leads to the newest, for people and other programs
    .partial-generation-3-5f0c2a91/     where this generation's saves are made

`save` copies this rank's share of the state into staging memory, and training goes on; a thread writes it, now and
then reads it back, and tells the others through the store; rank 0's thread then writes the manifest and gives the
folder its name.
No collective is called but once, at the first save, and again if the state gets other tensors.

State that all ranks have alike is written once: large tensors are dealt out over the ranks, so that the disk
sees all of them at work; everything else is rank 0's. Of a sharded tensor each rank writes its piece, and a piece
that several have is dealt out too. Each rank adds its own random states.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.runtime.checkpoints import disk, manifest, retention
from clusterwright.runtime.checkpoints.ahead import Ahead
from clusterwright.runtime.checkpoints.assembling import assemble
from clusterwright.runtime.checkpoints.async_saver import AsyncSaver, Order, Saved
from clusterwright.runtime.checkpoints.dealing import Dealer
from clusterwright.runtime.checkpoints.part import Reader
from clusterwright.runtime.checkpoints.source import Damaged
from clusterwright.runtime.checkpoints.staging import Staging
from clusterwright.runtime.checkpoints.target_state import TargetState
from clusterwright.runtime.group import Group


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
    """The checkpoints in one folder; all ranks call the same things in the same order.

    `on_saved` is called on rank 0, in a thread, as soon as it is known how a save went.
    """

    def __init__(
        self,
        folder: Path,
        group: Group,
        *,
        save_total_limit: int,
        generation: int = 0,
        dealer: Dealer | None = None,
        on_saved: Callable[[Saved], None] | None = None,
    ) -> None:
        self._folder, self._group, self._generation = folder, group, generation
        self._keeper = retention.Keeper(folder, save_total_limit)
        self._dealer, self._staging = dealer or Dealer(group), Staging(group.device)
        self._saver = AsyncSaver(group, self._keeper, on_saved)
        self._partial_folder: Path | None = None
        self._number = 0
        self._value: float | None = None

    def prepare(self, shared: dict[str, Any], local: dict[str, Any]) -> Ahead:
        """Begin what the first save of such a state would have to wait for; the memory that is being made for it."""
        self._open_partial_folder()
        return self._staging.prepare(self._staging.plan(self._dealer.chunks(shared, local)).bytes)

    def save(self, step: int, shared: dict[str, Any], local: dict[str, Any]) -> float:
        """Begin to save what all ranks share and this rank's own; the seconds that training had to wait.

        That is the time of a copy, and the first time of what was not prepared. Where this rank's last part is not
        on disk yet it waits for that, since ranks that skipped a save would have to agree on it, and would fall
        further and further behind in silence.
        """
        begun = time.perf_counter()
        self._saver.wait_for_staging()
        partial_folder = self._open_partial_folder()
        if isinstance(partial_folder, str):
            self._saver.refuse(Saved(step, time.perf_counter() - begun, why=partial_folder))
            return time.perf_counter() - begun
        chunks = self._dealer.chunks(shared, local)
        plan = self._staging.plan(chunks)
        staged = self._staging.stage(plan, chunks)
        order = Order(self._number, step, begun, partial_folder, plan, staged, self._value)
        self._number, self._value = self._number + 1, None
        self._saver.begin(order)
        return time.perf_counter() - begun

    def wait(self) -> Saved | None:
        """How the last save went, when that is known on all ranks; None when nothing was saved."""
        return self._saver.wait()

    def close(self) -> Saved | None:
        """How the last save went, when that is known; then nothing but checkpoints is left in the folder."""
        saved = self.wait()
        if self._partial_folder and self._group.rank == 0:
            retention.remove(self._partial_folder)
        self._partial_folder = None
        return saved

    def set_value(self, value: float) -> None:
        """The state that is saved next has this measure; the checkpoint with the lowest one is kept too."""
        self._value = value

    def newest(self, target: TargetState | None = None) -> tuple[Loaded | None, list[Skipped]]:
        """The newest good checkpoint, the same on all ranks, and the newer ones that are no good.

        One that any rank finds damaged, or cannot read, is passed over by all and stays where it is. Tensors come
        whole, or as the pieces that `target` asks for, whatever the number of ranks that saved them.

        Raises:
            Mismatch: the newest good one is of another architecture.
        """
        self.wait()
        self._open_partial_folder()
        skipped: list[Skipped] = []
        for step in self._group.share(retention.steps(self._folder)):
            result = self._try_to_load(step, target)
            problems = [problem for problem in self._group.gather(_problem(result)) if problem]
            if isinstance(result, Loaded) and not problems:
                self._keeper.verified.add(step)
                return result, skipped
            skipped.append(problems[0])
        return None, skipped

    def _open_partial_folder(self) -> Path | str:
        """Rank 0 makes the folder for saves, once; on all ranks, the folder or what was in its way."""
        if self._partial_folder:
            return self._partial_folder
        result: Path | str = ""
        if self._group.rank == 0:
            try:
                result = retention.open_partial_folder(self._folder, self._generation)
            except OSError as error:
                result = str(error)
        result = self._group.share(result)
        self._partial_folder = result if isinstance(result, Path) else None
        return result

    def _try_to_load(self, step: int, target: TargetState | None) -> Loaded | Skipped:
        folder = self._folder / manifest.step_name(step)
        try:
            saved_manifest = manifest.read(folder)
            shared, local = assemble(
                _opened(folder, saved_manifest), rank=self._group.rank, target=target, step=step
            )
            return Loaded(
                step, shared, local if saved_manifest.world_size == self._group.world_size else None
            )
        except (Damaged, OSError) as error:
            return Skipped(step, f"rank {self._group.rank}: {error}", damaged=isinstance(error, Damaged))


def load(
    folder: Path, rank: int = 0, world_size: int | None = None
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """What was saved: the shared state, whole, and the rank's own if the number of ranks is still the same."""
    saved_manifest = manifest.read(folder)
    shared, local = assemble(_opened(folder, saved_manifest), rank=rank)
    return shared, local if saved_manifest.world_size == world_size else None


def _opened(folder: Path, saved_manifest: manifest.Manifest) -> Iterator[AbstractContextManager[Reader]]:
    return (disk.reader(folder, part) for part in saved_manifest.parts)


def _problem(result: Loaded | Skipped) -> Skipped | None:
    return result if isinstance(result, Skipped) else None
