"""What a checkpoint costs, as ratios to what cannot be avoided, all in one run: `python bench/checkpoint.py [MB]`.

The state is that of a model of so many megabytes (100) with AdamW's two moments, so three times as large on disk.
Ours is saved and loaded by one rank, the whole of it, with fsync, checksums and a read-back in the background.
Each figure is the median of five; the rounds are interleaved, so that a busy machine disturbs all alike.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import torch

from clusterwright.train.runtime import group, keep, manifest, memory
from clusterwright.train.runtime.checkpoint import Checkpoints, load
from clusterwright.train.runtime.digest import Digest

ROUNDS = 5


class Seconds(NamedTuple):
    """By the clock on the wall, and of this process's own work, which a busy machine disturbs less."""

    wall: float
    cpu: float


def main() -> None:
    """Measure and print."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    joined = group.join({})
    state = {"model": {f"layer{n}": torch.randn(megabytes * 25_000) for n in range(10)}}
    state["optimizer"] = {
        name: {k: t.clone() for k, t in state["model"].items()} for name in ("exp_avg", "exp_avg_sq")
    }
    folder = Path(tempfile.mkdtemp(prefix="bench-checkpoint-", dir=os.environ.get("BENCH_DIR")))
    try:
        measured = rounds(state, folder, Checkpoints(folder / "ours", joined, kept=2))
    finally:
        shutil.rmtree(folder)
        joined.leave()
    report(measured, size=sum(t.numel() * 4 for t in tensors(state)))


def tensors(state: dict) -> list[torch.Tensor]:
    """All of them."""
    return [state["model"][k] for k in state["model"]] + [
        t for part in state["optimizer"].values() for t in part.values()
    ]


def rounds(state: dict, folder: Path, ours: Checkpoints) -> dict[str, Seconds]:
    """Seconds of each act, as medians."""
    found: dict[str, list[tuple[float, float]]] = {}
    targets = [torch.empty_like(t) for t in tensors(state)]

    def timed(name: str, act: Callable[..., object], *arguments: object) -> None:
        begun, cpu = time.perf_counter(), time.process_time()
        act(*arguments)
        found.setdefault(name, []).append((time.perf_counter() - begun, time.process_time() - cpu))

    for step in range(1, ROUNDS + 1):
        plain = folder / f"plain{step}.pt"  # a new file each time, and two kept, as ours
        (folder / f"plain{step - 2}.pt").unlink(missing_ok=True)
        timed("memcpy", lambda: [a.copy_(b) for a, b in zip(targets, tensors(state), strict=True)])
        timed("torch.save + fsync", save_durably, state, plain)
        timed("ours: save", ours.save, step, state, {})
        ours.settle()
        path = folder / "ours" / manifest.step_name(step)
        timed("torch.load", load_plainly, plain)
        timed("ours: load (verified)", load, path)
        timed("ours: verify alone", keep.check, path)
        with unverified():
            timed("ours: load, unverified", load, path)
        timed("checksum in memory", checksum, state)
        timed("SHA-256 in memory", sha256, state)
        forget(plain, *path.iterdir())
        timed("torch.load, cold", load_plainly, plain)
        timed("ours: load (verified), cold", load, path)
        forget(*path.iterdir())
        with unverified():
            timed("ours: load, unverified, cold", load, path)
    return {
        name: Seconds(*(statistics.median(column) for column in zip(*pairs, strict=True)))
        for name, pairs in found.items()
    }


def save_durably(state: dict, path: Path) -> None:
    """torch.save, and on disk when it returns, as ours is."""
    with path.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())


def load_plainly(path: Path) -> object:
    """torch.load, which verifies nothing."""
    return torch.load(path, weights_only=True)


def checksum(state: dict) -> None:
    """What verifying adds to reading."""
    taken = Digest()
    for tensor in tensors(state):
        taken.update(tensor.view(torch.uint8))
    taken.hexdigest()


def sha256(state: dict) -> None:
    """What it would add otherwise."""
    taken = hashlib.sha256()
    for tensor in tensors(state):
        taken.update(memory.view(tensor.view(torch.uint8)))


@contextlib.contextmanager
def unverified() -> Iterator[None]:
    """The same load with a checksum that costs nothing and is always right: what verifying adds is the difference."""
    real = Digest.update, Digest.hexdigest
    Digest.update, Digest.hexdigest = (lambda *_: None), (lambda _: Anything())
    try:
        yield
    finally:
        Digest.update, Digest.hexdigest = real


class Anything(str):
    """Equal to all."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = str.__hash__


def forget(*paths: Path) -> None:
    """Out of the page cache."""
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)


def report(measured: dict[str, Seconds], size: int) -> None:
    """Seconds, speed, and the ratios that we claim something about."""
    threads, load = torch.get_num_threads(), os.getloadavg()[0]
    print(f"{size / 1e6:.0f} MB, one rank, {threads} threads, torch {torch.__version__}, load {load:.1f}")
    for name, seconds in measured.items():
        speed = size / seconds.cpu / 1e9
        print(
            f"  {name:30} {seconds.wall:8.3f} s, {seconds.cpu:6.3f} s of CPU, {speed:6.2f} GB per CPU second"
        )
    print("  ratios, and those of CPU seconds")
    for over, under in [
        ("ours: save", "memcpy"),
        ("ours: save", "torch.save + fsync"),
        ("ours: load (verified)", "torch.load"),
        ("ours: load (verified), cold", "torch.load, cold"),
        ("checksum in memory", "torch.load"),
        ("checksum in memory", "torch.load, cold"),
        ("ours: load (verified)", "ours: load, unverified"),
        ("ours: load (verified), cold", "ours: load, unverified, cold"),
        ("SHA-256 in memory", "torch.load"),
    ]:
        wall, cpu = (a / b for a, b in zip(measured[over], measured[under], strict=True))
        print(f"  {over + ' / ' + under:62} {wall:6.2f} {cpu:6.2f}")


if __name__ == "__main__":
    main()
