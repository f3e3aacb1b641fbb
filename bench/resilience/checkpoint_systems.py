"""Each way to save that `checkpoint.py` compares: begun between two steps, and done when it is on disk.

`begin` returns when training may go on; the event that it returns is set when everything is on disk.
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
    """One of them; `name` is that of the lines."""

    name = ""

    def __init__(self, folder: Path, joined: Group) -> None:
        self.folder, self.group = folder / self.name.replace(" ", "-").replace(",", ""), joined
        if joined.rank == 0:
            self.folder.mkdir()
        dist.barrier(group=joined.control)

    def prepare(self, state: State) -> Callable[[], bool]:  # noqa: ARG002 (what ours needs)
        """Begin what can be made ahead of the first save; whether that still goes on."""
        return lambda: False

    def begin(self, step: int, state: State) -> threading.Event:
        """Save."""
        raise NotImplementedError

    def end(self) -> None:
        """Everything of the last save is over."""


class Ours(System):
    """The runtime's own."""

    name = "ours"

    def __init__(self, folder: Path, joined: Group) -> None:
        super().__init__(folder, joined)
        self._durable = threading.Event()
        self._ours = Checkpoints(
            self.folder, joined, save_total_limit=KEPT, on_saved=lambda _: self._durable.set()
        )

    def prepare(self, state: State) -> Callable[[], bool]:
        """As a run does after its first step."""
        made = self._ours.prepare(state, {"torch": torch.get_rng_state()})
        return lambda: made.busy

    def begin(self, step: int, state: State) -> threading.Event:
        """What is on disk is known to rank 0."""
        self._durable.clear()
        self._ours.save(step, state, {"torch": torch.get_rng_state()})
        return self._durable

    def end(self) -> None:
        """And must have gone well."""
        if reason := self._ours.wait().why:
            raise OSError(reason)


class Torch(System):
    """torch.save by rank 0 into a file beside, to the disk, and renamed; the others wait."""

    name = "torch.save"

    def begin(self, step: int, state: State) -> threading.Event:
        """Nothing of it is behind the training."""
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
    """torch.distributed.checkpoint, which writes what all ranks have alike once, as ours does."""

    name = "dcp.save"

    def begin(self, step: int, state: State) -> threading.Event:
        """Its writer makes files durable by default."""
        dcp.save(state, checkpoint_id=self._path(step))
        return _set()

    def _path(self, step: int) -> Path:
        if self.group.rank == 0:
            shutil.rmtree(self.folder / str(step - KEPT), ignore_errors=True)
        return self.folder / str(step)


class DcpThread(Dcp):
    """With a Gloo group of its own, without which it froze trainings."""

    name = "dcp.async_save, thread"
    kind = "thread"

    def __init__(self, folder: Path, joined: Group) -> None:
        super().__init__(folder, joined)
        from torch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType

        self._type = AsyncCheckpointerType(self.kind)
        self._own = dist.new_group(backend="gloo")
        self._future: Any = None

    def begin(self, step: int, state: State) -> threading.Event:
        """Its future is done when the thread, or the process, is."""
        durable = threading.Event()
        self._future = dcp.async_save(
            state, checkpoint_id=self._path(step), process_group=self._own, async_checkpointer_type=self._type
        )
        self._future.add_done_callback(lambda _: durable.set())
        return durable

    def end(self) -> None:
        """And must have gone well."""
        self._future.result()


class DcpProcess(DcpThread):
    """The same from a process of its own."""

    name = "dcp.async_save, process"
    kind = "process"


SYSTEMS: tuple[Callable[[Path, Group], System], ...] = (Ours, Torch, Dcp, DcpThread, DcpProcess)


def _set() -> threading.Event:
    done = threading.Event()
    done.set()
    return done
