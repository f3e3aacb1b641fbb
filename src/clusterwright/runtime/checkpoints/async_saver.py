"""The background thread of saves: write and verify this rank's part; on rank 0, commit the checkpoint."""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from clusterwright.onhost.lib.files import rename, sync_folder
from clusterwright.runtime.checkpoints import disk, manifest, retention
from clusterwright.runtime.checkpoints.part import Layout, Part
from clusterwright.runtime.checkpoints.retention import Keeper
from clusterwright.runtime.checkpoints.source import Damaged
from clusterwright.runtime.group import Group
from clusterwright.runtime.replicas.board import Board

_NICE = 10  # training's threads have priority when there are more threads than cores


@dataclass(frozen=True)
class Saved:
    """The result of a save; `reason` is the error if it failed, and then its files were removed."""

    step: int
    seconds: float
    bytes: int = 0
    reason: str | None = None


@dataclass(frozen=True)
class Order:
    """A staged part and its destination."""

    number: int
    step: int
    begun: float
    partial_folder: Path
    plan: Layout
    staged: torch.Tensor
    value: float | None = None

    @property
    def topic(self) -> str:
        """Return the topic on the board under which ranks publish results of this save.

        The folder's random name keeps messages of an earlier start apart.
        """
        return f"{self.partial_folder.name}/{self.number}"

    @property
    def folder(self) -> Path:
        """Return the folder of this save's parts: `step-00000100` in the folder of unfinished saves."""
        return self.partial_folder / manifest.step_name(self.step)


class AsyncSaver:
    """A thread that executes this rank's orders one after another; all ranks have the same orders.

    It uses no collectives: each rank publishes the result of its part on the board, and rank 0 waits for all of them.
    """

    def __init__(self, group: Group, keeper: Keeper, on_saved: Callable[[Saved], None] | None) -> None:
        self._group, self._keeper, self._on_saved = group, keeper, on_saved
        self._board = Board(group.store)
        self._orders: queue.SimpleQueue[Order] = queue.SimpleQueue()
        self._staging_free, self._idle = threading.Event(), threading.Event()
        self._staging_free.set()
        self._idle.set()
        self._last: Saved | None = None
        self._last_order: Order | None = None
        self._answered = ""
        self._open = 0
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def begin(self, order: Order) -> None:
        """Queue the save of a staged part for the thread, starting that if needed.

        The staged memory must not change until `wait_for_staging` has returned.
        """
        with self._lock:
            self._open += 1
        self._staging_free.clear()
        self._idle.clear()
        self._last_order = order
        self._orders.put(order)
        if not self._thread:
            self._thread = threading.Thread(target=self._work, name="checkpoints", daemon=True)
            self._thread.start()

    def wait_for_staging(self) -> None:
        """Wait until this rank's last part is on disk, without waiting for other ranks."""
        self._staging_free.wait()

    def wait(self) -> Saved | None:
        """Wait for the last save on all ranks; return its result, equal on all ranks, None if nothing was saved."""
        self._idle.wait()
        if self._last_order and self._group.rank != 0:
            (document,) = self._board.read(f"{self._last_order.topic}/saved")
            self._last = Saved(**document)
        self._last_order = None
        return self._last

    def refuse(self, saved: Saved) -> None:
        """Wait for the last save, then make `saved`, a save that could not start on any rank, the last result.

        It is also reported to the callback.
        """
        self.wait()
        self._last = saved
        self._notify(saved)

    def _work(self) -> None:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        while True:
            order = self._orders.get()
            part = _run_guarded(self._write, order)
            self._staging_free.set()
            try:
                self._board.pin(f"{order.topic}/part", part, self._group.rank)
                if self._group.rank == 0:
                    self._complete(order)
            except Exception as error:  # noqa: BLE001 (reported as the result; the next save may succeed)
                self._last = Saved(
                    order.step, _elapsed_s(order), reason=f"cannot notify the other ranks: {error}"
                )
            del order  # and the memory
            with self._lock:
                self._open -= 1
                if not self._open:
                    self._idle.set()

    def _write(self, order: Order) -> dict[str, Any]:
        """Write this rank's part of a checkpoint to disk, and read it back if this save is to be verified.

        Return the part's record as a dict.
        """
        name = f"part-{self._group.rank:05d}-of-{self._group.world_size:05d}.safetensors"
        with contextlib.suppress(FileExistsError):  # the first rank creates it; none creates the parent
            order.folder.mkdir()
        part = disk.write(order.folder / name, order.plan, order.staged)
        if self._keeper.verifies(order.number):
            disk.read_back(order.folder / name, part)
        return asdict(part)

    def _complete(self, order: Order) -> None:
        """On rank 0, wait for all parts, commit the checkpoint, publish the result, remove old checkpoints.

        If a part or the commit failed, the files of this save are removed instead, and no old ones.
        """
        parts = self._board.read(f"{order.topic}/part", self._group.world_size)
        reason = next(
            (
                f"rank {rank}: {outcome['reason']}"
                for rank, outcome in enumerate(parts)
                if "reason" in outcome
            ),
            None,
        )
        size = 0
        if not reason:
            part_records = tuple(Part(**fields) for fields in parts)
            new_manifest = manifest.Manifest(
                order.step, self._group.world_size, torch.__version__, time.time(), part_records, order.value
            )
            size = new_manifest.bytes
            reason = _run_guarded(self._commit, order, new_manifest).get("reason")
        if reason:
            shutil.rmtree(order.folder, ignore_errors=True)
        self._last = Saved(order.step, _elapsed_s(order), 0 if reason else size, reason)
        self._board.pin(f"{order.topic}/saved", asdict(self._last))
        self._board.clear(f"{order.topic}/part", self._group.world_size)
        if self._answered:
            self._board.clear(self._answered)
        self._answered = f"{order.topic}/saved"
        self._notify(self._last)
        if not reason:
            self._keeper.tidy()

    def _commit(self, order: Order, new_manifest: manifest.Manifest) -> dict[str, Any]:
        """Write the manifest and rename the folder to its final name, never over a valid checkpoint.

        A damaged checkpoint of that name is replaced. Then point the link `latest` to this step; return an empty
        dict.
        """
        manifest.write(order.folder, new_manifest)
        root = order.partial_folder.parent
        final = root / manifest.step_name(new_manifest.step)
        try:
            rename(order.folder, final, durable=False)
        except OSError:
            if not final.exists():
                raise
            self._replace_damaged(order, final)
        sync_folder(root)
        if self._keeper.verifies(order.number):
            self._keeper.verified.add(new_manifest.step)
        retention.point(root, new_manifest.step)
        return {}

    def _replace_damaged(self, order: Order, final: Path) -> None:
        """Replace an existing checkpoint of the same step if it is damaged or unreadable.

        If the existing checkpoint is valid, delete the new checkpoint.
        """
        try:
            retention.check(final)
        except (Damaged, OSError):
            retention.remove(final)
            rename(order.folder, final, durable=False)
        else:
            shutil.rmtree(order.folder, ignore_errors=True)

    def _notify(self, saved: Saved) -> None:
        if self._on_saved and self._group.rank == 0:
            self._on_saved(saved)


def _run_guarded(action: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Call the action and return its result, or its error as `{"reason": text}` for the other ranks."""
    try:
        return action(*arguments)
    except (OSError, Damaged) as error:
        return {"reason": str(error)}
    except Exception as error:  # noqa: BLE001 (reported as the result; the next save may succeed)
        return {"reason": f"{type(error).__name__}: {error}"}


def _elapsed_s(order: Order) -> float:
    return time.perf_counter() - order.begun
