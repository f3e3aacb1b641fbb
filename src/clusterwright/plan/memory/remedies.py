"""When a run does not fit: what would make it, each step alone and then together, cheapest in time first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from clusterwright.plan.memory.peak import Fit, fits, peak
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
    fit: Fit
    saved_bytes: float
    slower: float  # share of the iteration's time; negative: faster

    def __str__(self) -> str:
        time = f"{self.slower:+.1%} time" if abs(self.slower) >= 0.001 else "the same time"
        saved, left = self.saved_bytes / GIB, float(self.peak.total) / GIB
        verdict = {Fit.FITS: "fits", Fit.TIGHT: "fits tightly", Fit.OOM: "does not fit yet"}[self.fit]
        return f"{self.words}: {saved:.1f} GiB less, {left:.1f} GiB in all, {verdict}; {time}"


def ladder(run: Run, seconds: Seconds | None = None) -> tuple[Remedy, ...]:
    """Every change that saves memory, by what it costs in time, more GPUs last.

    Where none makes it fit alone, one more remedy: the first of them together until it fits.
    `seconds` gives the time of an iteration; as a rule the planner's own.
    """
    clock = seconds or _iteration
    before, pace = float(peak(run).total), clock(run)
    single = [_remedy(words, changed, before, clock(changed) / pace - 1) for words, changed in _changes(run)]
    worth = (one for one in single if one.saved_bytes > WORTH * before)
    useful = sorted(worth, key=lambda one: (one.run.machine.gpus > run.machine.gpus, one.slower))
    if any(one.fit is not Fit.OOM for one in useful) or fits(peak(run), run.machine.gpu) is not Fit.OOM:
        return tuple(useful)
    return (*useful, *_together(run, useful, before, (pace, clock)))


def _iteration(run: Run) -> float:
    from clusterwright.plan import speed

    return float(speed.iteration(run).total)


def _remedy(words: str, changed: Run, before: float, slower: float) -> Remedy:
    after = peak(changed)
    verdict = fits(after, changed.machine.gpu)
    return Remedy(words, changed, after, verdict, before - float(after.total), slower)


def _together(
    run: Run, useful: list[Remedy], before: float, timing: tuple[float, Seconds]
) -> Iterator[Remedy]:
    """One change upon the other, each at its turn, until it fits."""
    pace, clock = timing
    at = run
    said: list[str] = []
    for one in useful:
        follow = next((changed for words, changed in _changes(at) if words == one.words), None)
        if follow is None or float(peak(follow).total) >= float(peak(at).total):
            continue
        at, said = follow, [*said, one.words]
        if fits(peak(at), at.machine.gpu) is not Fit.OOM:
            break
    if len(said) > 1:
        yield _remedy(" and ".join(said), at, before, clock(at) / pace - 1)


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
    cut, model = run.layout, run.training.architecture
    if cut.recompute < Recompute.SELECTIVE:
        yield "recompute the core of attention", _with(run, recompute=Recompute.SELECTIVE)
    if cut.recompute < Recompute.FULL:
        yield "recompute every layer", _with(run, recompute=Recompute.FULL)
    if cut.micro_batch > 1 and cut.micro_batch % 2 == 0:
        yield "halve the microbatch", _with(run, micro_batch=cut.micro_batch // 2)
    if cut.zero < 3 and cut.dp * cut.cp > 1:
        yield f"ZeRO stage {int(cut.zero) + 1}", _with(run, zero=cut.zero + 1)
    if cut.dp % 2 == 0:
        halved, local = cut.dp // 2, min(run.machine.nvlink_domain, run.machine.gpus_per_node)
        if 2 * cut.tp <= local and model.heads % (2 * cut.tp) == 0:
            yield f"tp {2 * cut.tp:g}", _with(run, tp=2 * cut.tp, dp=halved, sequence_parallel=1)
        if model.layers % (2 * cut.pp * cut.interleave) == 0:
            yield f"pp {2 * cut.pp:g}", _with(run, pp=2 * cut.pp, dp=halved)
    if cut.offload < Offload.OPTIMIZER:
        yield "keep optimiser states in host memory", _with(run, offload=Offload.OPTIMIZER)
    if run.training.global_batch % (2 * cut.dp * cut.micro_batch) == 0:
        more = _with(run, dp=2 * cut.dp)
        gpus = 2 * run.machine.gpus
        yield f"take {gpus} GPUs", replace(more, machine=replace(run.machine, gpus=gpus))


def _with(run: Run, **changes: Any) -> Run:
    return replace(run, layout=replace(run.layout, **changes))
