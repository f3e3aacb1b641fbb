"""Checkpoints: saved asynchronously and atomically, loaded only after every byte was verified.

    step-00000100/
      part-00000-of-00004.safetensors   one file per rank
      manifest.json                     written last: step, world size, and size and checksum of each file
    latest                              symlink to the newest, for users and other programs
    .partial-generation-3-5f0c2a91/     this generation's unfinished saves

`save` copies this rank's share of the state into staging memory, and training continues; a thread writes it, reads
every N-th save back, and reports to the others through the store; rank 0's thread then writes the manifest and
renames the folder.
The only collective runs at the first save, and again if the state's tensors change.

State that is equal on all ranks is written once: large tensors are distributed over the ranks, so that all of them
write in parallel; rank 0 writes the rest. Of a sharded tensor each rank writes its piece, and a piece that several
ranks hold is distributed too. Each rank adds its own random states.
"""

from __future__ import annotations

import dataclasses
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
from clusterwright.runtime.checkpoints.source import Damaged, OtherFormat
from clusterwright.runtime.checkpoints.staging import Staging
from clusterwright.runtime.checkpoints.target_state import TargetState
from clusterwright.runtime.group import Group


@dataclass(frozen=True)
class Loaded:
    """A checkpoint read and verified; `local` is None when the number of ranks has changed."""

    step: int
    shared: dict[str, Any]
    local: dict[str, Any] | None


@dataclass(frozen=True)
class Skipped:
    """A checkpoint that a rank could not load, and why; not `damaged` if it could not be read at all."""

    step: int
    reason: str
    damaged: bool
    other_format: bool = False

    @staticmethod
    def by(rank: int, step: int, error: Damaged | OSError) -> Skipped:
        """Return the record that a rank skips the checkpoint of this step because of the error."""
        damaged, other_format = isinstance(error, Damaged), isinstance(error, OtherFormat)
        return Skipped(step, f"rank {rank}: {error}", damaged, other_format)


class Checkpoints:
    """The checkpoints in one folder; all ranks call the same methods in the same order.

    `on_saved` is called on rank 0, in a thread, when a save has succeeded or failed.
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
        """Create the folder for saves and start to allocate staging memory for such a state; return the allocation.

        The first save then does not wait for it. All ranks must call this together.
        """
        self._open_partial_folder()
        return self._staging.prepare(self._staging.plan(self._dealer.chunks(shared, local)).bytes)

    def save(self, step: int, shared: dict[str, Any], local: dict[str, Any]) -> float:
        """Start to save the shared state and this rank's local state; return the seconds that training waited.

        That is the time of a copy, and at the first save of what was not prepared. If this rank's last part is not on
        disk yet, it waits for it: ranks would have to agree on skipping a save, and would silently fall behind more
        and more. If the folder for saves cannot be created, nothing is saved and the failure is reported as by a
        save.
        """
        begun = time.perf_counter()
        self._saver.wait_for_staging()
        partial_folder = self._open_partial_folder()
        if isinstance(partial_folder, str):
            self._saver.refuse(Saved(step, time.perf_counter() - begun, reason=partial_folder))
            return time.perf_counter() - begun
        chunks = self._dealer.chunks(shared, local)
        plan = self._staging.plan(chunks)
        staged = self._staging.stage(plan, chunks)
        order = Order(self._number, step, begun, partial_folder, plan, staged, self._value)
        self._number, self._value = self._number + 1, None
        self._saver.begin(order)
        return time.perf_counter() - begun

    def wait(self) -> Saved | None:
        """Wait for the last save; return its result, equal on all ranks, None if nothing was saved."""
        return self._saver.wait()

    def close(self) -> Saved | None:
        """Wait for the last save, remove the folder of unfinished saves and return the result.

        None if nothing was saved.
        """
        saved = self.wait()
        if self._partial_folder and self._group.rank == 0:
            retention.remove(self._partial_folder)
        self._partial_folder = None
        return saved

    def set_value(self, value: float) -> None:
        """Set the metric of the next save; the checkpoint with the lowest one is retained, too."""
        self._value = value

    def newest(self, target: TargetState | None = None) -> tuple[Loaded | None, list[Skipped]]:
        """Load the newest valid checkpoint, the same on all ranks; return it and the newer ones that were skipped.

        Collective. None if none is valid. One that any rank finds damaged or cannot read is skipped by all and not
        removed. One of another format is skipped as the last, and None is returned, because an older checkpoint would
        silently repeat the steps since. Tensors are loaded whole, or as the pieces that `target` selects, whatever the
        number of ranks that saved them.

        Raises:
            Mismatch: the newest valid one is from a different architecture.
        """
        self.wait()
        self._open_partial_folder()
        skipped: list[Skipped] = []
        for step in self._group.share(retention.steps(self._folder)):
            result = self._try_to_load(step, target)
            problems = gather_problems(self._group, result)
            if isinstance(result, Loaded) and not problems:
                self._keeper.verified.add(step)
                return result, skipped
            skipped.append(next((problem for problem in problems if problem.other_format), problems[0]))
            if skipped[-1].other_format:
                break
        return None, skipped

    def _open_partial_folder(self) -> Path | str:
        """Create the folder for saves on rank 0, once; return on all ranks the folder, or the error as a string.

        Collective. After an error the next call tries again.
        """
        if self._partial_folder:
            return self._partial_folder
        path = problem = ""
        if self._group.rank == 0:
            try:
                path = str(retention.open_partial_folder(self._folder, self._generation))
            except OSError as error:
                problem = str(error)
        path, problem = self._group.share((path, problem))
        self._partial_folder = Path(path) if path else None
        return self._partial_folder or problem

    def _try_to_load(self, step: int, target: TargetState | None) -> Loaded | Skipped:
        folder = self._folder / manifest.step_name(step)
        try:
            saved_manifest = manifest.read(folder)
            shared, local = assemble(
                _opened(folder, saved_manifest),
                rank=self._group.rank,
                target=target,
                step=step,
                size_bytes=saved_manifest.bytes,
            )
            return Loaded(
                step, shared, local if saved_manifest.world_size == self._group.world_size else None
            )
        except (Damaged, OSError) as error:
            return Skipped.by(self._group.rank, step, error)


def load(
    folder: Path, rank: int = 0, world_size: int | None = None
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the unsharded shared state of a checkpoint folder, and the rank's local state.

    The latter is None unless `world_size` is the number of ranks that saved it.

    Raises:
        Damaged: the checkpoint differs from what was saved.
    """
    saved_manifest = manifest.read(folder)
    opened = _opened(folder, saved_manifest)
    shared, local = assemble(opened, rank=rank, size_bytes=saved_manifest.bytes)
    return shared, local if saved_manifest.world_size == world_size else None


def _opened(folder: Path, saved_manifest: manifest.Manifest) -> Iterator[AbstractContextManager[Reader]]:
    return (disk.reader(folder, part) for part in saved_manifest.parts)


def gather_problems(group: Group, result: Loaded | Skipped | None) -> list[Skipped]:
    """Return the problems of all ranks with loading one checkpoint, empty if none; collective.

    `result` is this rank's: only a Skipped is a problem.
    """
    mine = dataclasses.astuple(result) if isinstance(result, Skipped) else None
    return [Skipped(*problem) for problem in group.gather(mine) if problem]
