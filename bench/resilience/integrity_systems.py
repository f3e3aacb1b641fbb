"""How each system saves a step into a folder and finds a checkpoint to load; run in a separate process.

`loads` yields attempts, the newest checkpoint first: by default only the first is made; with fallback (best) the next
follows if one fails.
"""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import checkpoint as dcp

from clusterwright.runtime import group
from clusterwright.runtime.checkpoints.checkpoint import Checkpoints

State = dict[str, Any]
KEPT = 2
FLOATS = 62_500  # in each of eight tensors
warnings.filterwarnings("ignore")


@dataclass(frozen=True)
class System:
    """`save` returns when the step is on disk; `loads` are attempts, each of which may raise."""

    name: str
    save: Callable[[Path, int, State], None]
    loads: Callable[[Path], Iterator[Callable[[], State | None]]]
    walks: bool = True  # it has older checkpoints to fall back to


def save_ours(folder: Path, step: int, state: State) -> None:
    """Save a step by Clusterwright's runtime with one rank."""
    with _joined() as joined:
        ours = Checkpoints(folder, joined, save_total_limit=KEPT)
        ours.save(step, state, {})
        if reason := ours.wait().reason:
            raise OSError(reason)


def load_ours(folder: Path) -> Iterator[Callable[[], State | None]]:
    """Load by the runtime, which falls back by itself: one attempt."""

    def load() -> State | None:
        with _joined() as joined:
            found, _ = Checkpoints(folder, joined, save_total_limit=KEPT).newest()
            return found.shared if found else None

    yield load


def save_in_place(folder: Path, _: int, state: State) -> None:
    """Overwrite one file by torch.save."""
    torch.save(state, folder / "checkpoint.pt")


def load_in_place(folder: Path) -> Iterator[Callable[[], State | None]]:
    """Yield one attempt: load the file."""
    yield lambda: torch.load(folder / "checkpoint.pt", weights_only=True)


def save_renamed(folder: Path, step: int, state: State) -> None:
    """Write a temporary file, fsync and rename it; update the pointer in the same way; then remove old files."""
    path = folder / f"step-{step}.pt"
    with (scratch := folder / "scratch").open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)
    pointer = folder / ".latest"
    pointer.write_text(path.name)
    pointer.replace(folder / "latest")
    for old in _numbered(folder, "step-*.pt")[KEPT:]:
        old.unlink()


def load_renamed(folder: Path) -> Iterator[Callable[[], State | None]]:
    """Load the file of the pointer, then the others."""
    first = folder / (folder / "latest").read_text()
    yield lambda: torch.load(first, weights_only=True)
    for path in _numbered(folder, "step-*.pt"):
        if path != first:
            yield lambda path=path: torch.load(path, weights_only=True)


def save_dcp(folder: Path, step: int, state: State) -> None:
    """Save by DCP, one folder per step; `.metadata` is written last."""
    dcp.save(state, checkpoint_id=folder / f"step-{step}")
    _thin(folder)


def save_dcp_async(folder: Path, step: int, state: State) -> None:
    """Save by dcp.async_save and wait for it."""
    with _joined():
        dcp.async_save(state, checkpoint_id=folder / f"step-{step}").result()
    _thin(folder)


def load_dcp(folder: Path) -> Iterator[Callable[[], State | None]]:
    """Load the highest step with `.metadata`, as torchtitan does."""
    for path in _numbered(folder, "step-*"):
        if (path / ".metadata").exists():
            yield lambda path=path: _load_dcp(path)


def _load_dcp(path: Path) -> State:
    state = blank()
    dcp.load(state, checkpoint_id=path)
    return state


def blank() -> State:
    """Return an empty state into which a checkpoint is loaded."""
    return {"model": {f"layer{n}": torch.zeros(FLOATS) for n in range(8)}, "step": 0}


def made(step: int) -> State:
    """Return the state of a step: 2 MB, different in each step."""
    dice = torch.Generator().manual_seed(step)
    return {
        "model": {f"layer{n}": torch.randn(FLOATS, generator=dice) for n in range(8)},
        "step": step,
    }


def _thin(folder: Path) -> None:
    for old in _numbered(folder, "step-*")[KEPT:]:
        shutil.rmtree(old)


def _numbered(folder: Path, pattern: str) -> list[Path]:
    """Return the paths that match the pattern, the newest step first."""
    return sorted(folder.glob(pattern), key=lambda path: -int(path.stem.rpartition("-")[2]))


class _joined:  # noqa: N801 (used as a function)
    """A process group of one rank, without a launcher."""

    def __enter__(self) -> group.Group:
        self._group = group.join({})
        return self._group

    def __exit__(self, *_: object) -> None:
        dist.destroy_process_group()


SYSTEMS = (
    System("ours", save_ours, load_ours, walks=False),
    System("torch.save, in place", save_in_place, load_in_place, walks=False),
    System("torch.save, renamed", save_renamed, load_renamed),
    System("dcp.save", save_dcp, load_dcp),
    System("dcp.async_save", save_dcp_async, load_dcp),
)
