"""When a run does not fit: what would make it, each step alone and then together, cheapest in time first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from clusterwright.plan.memory.peak import MemoryFit, classify_fit, peak
from clusterwright.plan.run import Offload, Recompute, Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clusterwright.plan.prediction import Memory

    Seconds = Callable[[Run], float]
    Change = tuple[str, Run]

GIB = 2.0**30
WORTH = 0.005  # of the memory before: what saves less is not worth a line


@dataclass(frozen=True, slots=True)
class Remedy:
    """One change, or several together, with what it does."""

    words: str
    run: Run
    peak: Memory
    fit: MemoryFit
    saved_bytes: float
    slower: float  # share of the iteration's time; negative: faster

    def __str__(self) -> str:
        time = f"{self.slower:+.1%} time" if abs(self.slower) >= 0.001 else "the same time"
        saved, total = self.saved_bytes / GIB, float(self.peak.total) / GIB
        verdict = {
            MemoryFit.FITS: "fits",
            MemoryFit.TIGHT: "fits tightly",
            MemoryFit.OOM: "does not fit yet",
        }[self.fit]
        return f"{self.words}: {saved:.1f} GiB less, {total:.1f} GiB in all, {verdict}; {time}"


def ladder(run: Run, seconds: Seconds | None = None) -> tuple[Remedy, ...]:
    """Every change that saves memory, by what it costs in time, more GPUs last.

    Where none makes it fit alone, one more remedy: the first of them together until it fits.
    `seconds` gives the time of an iteration; as a rule the planner's own.
    """
    clock = seconds or _iteration
    initial_bytes, pace = float(peak(run).total), clock(run)
    single = [
        _remedy(description, changed, initial_bytes, clock(changed) / pace - 1)
        for description, changed in _changes(run)
    ]
    worth = (remedy for remedy in single if remedy.saved_bytes > WORTH * initial_bytes)
    useful = sorted(worth, key=lambda remedy: (remedy.run.machine.gpus > run.machine.gpus, remedy.slower))
    if (
        any(remedy.fit is not MemoryFit.OOM for remedy in useful)
        or classify_fit(peak(run), run.machine.gpu) is not MemoryFit.OOM
    ):
        return tuple(useful)
    return (*useful, *_combined(run, useful, initial_bytes, (pace, clock)))


def _iteration(run: Run) -> float:
    from clusterwright.plan import speed

    return float(speed.iteration(run).total)


def _remedy(description: str, changed: Run, initial_bytes: float, slower: float) -> Remedy:
    new_peak = peak(changed)
    verdict = classify_fit(new_peak, changed.machine.gpu)
    return Remedy(description, changed, new_peak, verdict, initial_bytes - float(new_peak.total), slower)


def _combined(
    run: Run, useful: list[Remedy], initial_bytes: float, timing: tuple[float, Seconds]
) -> Iterator[Remedy]:
    """One change upon the other, each at its turn, until it fits."""
    pace, clock = timing
    current = run
    descriptions: list[str] = []
    for remedy in useful:
        follow = next(
            (changed for description, changed in _changes(current) if description == remedy.words), None
        )
        if follow is None or float(peak(follow).total) >= float(peak(current).total):
            continue
        current, descriptions = follow, [*descriptions, remedy.words]
        if classify_fit(peak(current), current.machine.gpu) is not MemoryFit.OOM:
            break
    if len(descriptions) > 1:
        yield _remedy(" and ".join(descriptions), current, initial_bytes, clock(current) / pace - 1)


def _changes(run: Run) -> Iterator[Change]:
    """What can be changed of this run, one thing at a time."""
    yield from _training(run)
    yield from _layout(run)


def _training(run: Run) -> Iterator[Change]:
    work = run.training
    if work.gradient_bytes > 2:
        yield "keep gradients in 2 bytes", replace(run, training=replace(work, gradient_bytes=2))
    if work.optimizer == "adam":
        yield "take 8-bit Adam", replace(run, training=replace(work, optimizer="adam8bit"))
    if not work.fused_loss:
        yield "compute the loss in chunks", replace(run, training=replace(work, fused_loss=True))
    if not work.flash_attention:
        yield "take flash attention", replace(run, training=replace(work, flash_attention=True))


def _layout(run: Run) -> Iterator[Change]:
    layout, model = run.layout, run.training.architecture
    if layout.recompute < Recompute.SELECTIVE:
        yield "recompute the core of attention", _with(run, recompute=Recompute.SELECTIVE)
    if layout.recompute < Recompute.FULL:
        yield "recompute every layer", _with(run, recompute=Recompute.FULL)
    if layout.micro_batch > 1 and layout.micro_batch % 2 == 0:
        yield "halve the microbatch", _with(run, micro_batch=layout.micro_batch // 2)
    if layout.zero < 3 and layout.dp * layout.cp > 1:
        yield f"ZeRO stage {int(layout.zero) + 1}", _with(run, zero=layout.zero + 1)
    if layout.dp % 2 == 0:
        halved, local = layout.dp // 2, min(run.machine.nvlink_domain, run.machine.gpus_per_node)
        if 2 * layout.tp <= local and model.heads % (2 * layout.tp) == 0:
            yield f"tp {2 * layout.tp:g}", _with(run, tp=2 * layout.tp, dp=halved, sequence_parallel=1)
        if model.layers % (2 * layout.pp * layout.interleave) == 0:
            yield f"pp {2 * layout.pp:g}", _with(run, pp=2 * layout.pp, dp=halved)
    if layout.offload < Offload.OPTIMIZER:
        yield "keep optimiser states in host memory", _with(run, offload=Offload.OPTIMIZER)
    if run.training.global_batch % (2 * layout.dp * layout.micro_batch) == 0:
        more = _with(run, dp=2 * layout.dp)
        gpus = 2 * run.machine.gpus
        yield f"take {gpus} GPUs", replace(more, machine=replace(run.machine, gpus=gpus))


def _with(run: Run, **changes: Any) -> Run:
    return replace(run, layout=replace(run.layout, **changes))
