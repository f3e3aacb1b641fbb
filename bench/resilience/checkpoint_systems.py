"""The checkpoint systems that `checkpoint.py` compares.

`begin` returns when training may continue; the event that it returns is set when everything is on disk.
"""

from __future__ import annotations

import os
import shutil
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import checkpoint as dcp

from clusterwright.runtime.checkpoints.checkpoint import Checkpoints
from clusterwright.runtime.group import Group

warnings.filterwarnings("ignore")
State = dict[str, Any]
KEPT = 2


class System:
    """A checkpoint system; `name` is its name in the raw lines."""

    name = ""

    def __init__(self, folder: Path, joined: Group) -> None:
        self.folder, self.group = folder / self.name.replace(" ", "-").replace(",", ""), joined
        if joined.rank == 0:
            self.folder.mkdir()
        dist.barrier(group=joined.control)

    def prepare(self, state: State) -> Callable[[], bool]:  # noqa: ARG002 (Ours needs it)
        """Start to prepare the first save; return a function that returns whether that is still running."""
        return lambda: False

    def begin(self, step: int, state: State) -> threading.Event:
        """Start a save; return an event that is set when it is on disk."""
        raise NotImplementedError

    def end(self) -> None:
        """Wait for the last save."""


class Ours(System):
    """The checkpoints of Clusterwright's runtime."""

    name = "ours"

    def __init__(self, folder: Path, joined: Group) -> None:
        super().__init__(folder, joined)
        self._durable = threading.Event()
        self._ours = Checkpoints(
            self.folder, joined, save_total_limit=KEPT, on_saved=lambda _: self._durable.set()
        )

    def prepare(self, state: State) -> Callable[[], bool]:
        """Prepare as a run does after its first step."""
        made = self._ours.prepare(state, {"torch": torch.get_rng_state()})
        return lambda: made.busy

    def begin(self, step: int, state: State) -> threading.Event:
        """Start a save; the event is set on rank 0."""
        self._durable.clear()
        self._ours.save(step, state, {"torch": torch.get_rng_state()})
        return self._durable

    def end(self) -> None:
        """Wait for the last save, which must have succeeded."""
        if reason := self._ours.wait().reason:
            raise OSError(reason)


class Torch(System):
    """torch.save by rank 0 to a temporary file, with fsync and rename; the others wait."""

    name = "torch.save"

    def begin(self, step: int, state: State) -> threading.Event:
        """Save synchronously."""
        if self.group.rank == 0:
            path = self.folder / f"{step}.pt"
            with path.open("wb") as file:
                torch.save(state, file)
                file.flush()
                os.fsync(file.fileno())
            path.rename(self.folder / "newest.pt")
        dist.barrier(group=self.group.control)
        return _set()


class Dcp(System):
    """torch.distributed.checkpoint, which writes replicated state once, as ours does."""

    name = "dcp.save"

    def begin(self, step: int, state: State) -> threading.Event:
        """Save synchronously; its writer calls fsync by default."""
        dcp.save(state, checkpoint_id=self._path(step))
        return _set()

    def _path(self, step: int) -> Path:
        if self.group.rank == 0:
            shutil.rmtree(self.folder / str(step - KEPT), ignore_errors=True)
        return self.folder / str(step)


class DcpThread(Dcp):
    """dcp.async_save in a thread, with its own Gloo group: with the training's group, trainings hung."""

    name = "dcp.async_save, thread"
    kind = "thread"

    def __init__(self, folder: Path, joined: Group) -> None:
        super().__init__(folder, joined)
        from torch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType

        self._type = AsyncCheckpointerType(self.kind)
        self._own = dist.new_group(backend="gloo")
        self._future: Any = None

    def begin(self, step: int, state: State) -> threading.Event:
        """Start a save; its future is done when the thread or process is."""
        durable = threading.Event()
        self._future = dcp.async_save(
            state, checkpoint_id=self._path(step), process_group=self._own, async_checkpointer_type=self._type
        )
        self._future.add_done_callback(lambda _: durable.set())
        return durable

    def end(self) -> None:
        """Wait for the last save, which must have succeeded."""
        self._future.result()


class DcpProcess(DcpThread):
    """dcp.async_save in a separate process."""

    name = "dcp.async_save, process"
    kind = "process"


SYSTEMS: tuple[Callable[[Path, Group], System], ...] = (Ours, Torch, Dcp, DcpThread, DcpProcess)


def _set() -> threading.Event:
    done = threading.Event()
    done.set()
    return done
