"""Changes that reduce the memory of a run: each alone, then combined until it fits, cheapest in time first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from clusterwright.i18n import N_, _
from clusterwright.plan.memory.peak import MemoryFit, classify_fit, peak
from clusterwright.plan.run import Offload, Recompute, Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clusterwright.plan.prediction import Memory

    Seconds = Callable[[Run], float]
    Change = tuple[str, Run]

GIB = 2.0**30
WORTH = 0.005  # share of the memory before: smaller savings are not listed


@dataclass(frozen=True, slots=True)
class Remedy:
    """One change, or several combined, with its effect on memory and time."""

    description: str
    run: Run
    peak: Memory
    memory_fit: MemoryFit
    saved_bytes: float
    slower: float  # change of the iteration time as a share; negative: faster

    def __str__(self) -> str:
        time = _("iteration time unchanged")
        if abs(self.slower) >= 0.001:
            time = _("iteration time {change:+.1%}", change=self.slower)
        text = {
            MemoryFit.FITS: N_("{change}: saves {saved:.1f} GiB, total {total:.1f} GiB, fits; {time}"),
            MemoryFit.TIGHT: N_(
                "{change}: saves {saved:.1f} GiB, total {total:.1f} GiB, fits barely; {time}"
            ),
            MemoryFit.OOM: N_(
                "{change}: saves {saved:.1f} GiB, total {total:.1f} GiB, does not fit yet; {time}"
            ),
        }[self.memory_fit]
        saved, total = self.saved_bytes / GIB, float(self.peak.total) / GIB
        return _(text, change=self.description, saved=saved, total=total, time=time)


def ladder(run: Run, seconds: Seconds | None = None) -> tuple[Remedy, ...]:
    """Return every change that saves over 0.5% of the peak memory, ordered by cost in time, more GPUs last.

    If none makes the run fit alone, one more remedy combines them in this order until it fits.

    `seconds` predicts the time of an iteration; default: the planner's model.
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
        any(remedy.memory_fit is not MemoryFit.OOM for remedy in useful)
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
    """Yield one remedy that applies the changes in order until the run fits, or all of them if it never fits.

    A change that no longer lowers peak memory is left out; nothing is yielded for fewer than two changes.
    """
    pace, clock = timing
    current = run
    descriptions: list[str] = []
    for remedy in useful:
        follow = next(
            (changed for description, changed in _changes(current) if description == remedy.description), None
        )
        if follow is None or float(peak(follow).total) >= float(peak(current).total):
            continue
        current, descriptions = follow, [*descriptions, remedy.description]
        if classify_fit(peak(current), current.machine.gpu) is not MemoryFit.OOM:
            break
    if len(descriptions) > 1:
        yield _remedy(", ".join(descriptions), current, initial_bytes, clock(current) / pace - 1)


def _changes(run: Run) -> Iterator[Change]:
    """Yield every single change of the run's training or layout that may save memory, with its description."""
    yield from _training(run)
    yield from _layout(run)


def _training(run: Run) -> Iterator[Change]:
    work = run.training
    if work.gradient_bytes > 2:
        yield _("store gradients in 2 bytes"), replace(run, training=replace(work, gradient_bytes=2))
    if work.optimizer == "adam":
        yield _("use 8-bit Adam"), replace(run, training=replace(work, optimizer="adam8bit"))
    if not work.fused_loss:
        yield _("compute the loss in chunks"), replace(run, training=replace(work, fused_loss=True))
    if not work.flash_attention:
        yield _("use flash attention"), replace(run, training=replace(work, flash_attention=True))


def _layout(run: Run) -> Iterator[Change]:
    layout, model = run.layout, run.training.architecture
    if layout.recompute < Recompute.SELECTIVE:
        yield _("recompute core attention"), _with(run, recompute=Recompute.SELECTIVE)
    if layout.recompute < Recompute.FULL:
        yield _("recompute every layer"), _with(run, recompute=Recompute.FULL)
    if layout.micro_batch > 1 and layout.micro_batch % 2 == 0:
        yield _("halve the microbatch"), _with(run, micro_batch=layout.micro_batch // 2)
    if layout.zero < 3 and layout.dp * layout.cp > 1:
        yield _("use ZeRO stage {stage}", stage=int(layout.zero) + 1), _with(run, zero=layout.zero + 1)
    if layout.dp % 2 == 0:
        halved, local = layout.dp // 2, min(run.machine.nvlink_domain, run.machine.gpus_per_node)
        if 2 * layout.tp <= local and model.heads % (2 * layout.tp) == 0:
            yield f"tp {2 * layout.tp:g}", _with(run, tp=2 * layout.tp, dp=halved, sequence_parallel=1)
        if model.layers % (2 * layout.pp * layout.interleave) == 0:
            yield f"pp {2 * layout.pp:g}", _with(run, pp=2 * layout.pp, dp=halved)
    if layout.offload < Offload.OPTIMIZER:
        yield _("store optimizer states in host memory"), _with(run, offload=Offload.OPTIMIZER)
    if run.training.global_batch % (2 * layout.dp * layout.micro_batch) == 0:
        more = _with(run, dp=2 * layout.dp)
        gpus = 2 * run.machine.gpus
        yield _("use {gpus} GPUs", gpus=gpus), replace(more, machine=replace(run.machine, gpus=gpus))


def _with(run: Run, **changes: Any) -> Run:
    return replace(run, layout=replace(run.layout, **changes))
