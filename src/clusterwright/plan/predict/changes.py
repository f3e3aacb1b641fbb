"""Which changes would speed up a run most: predictions with one thing changed at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterwright.i18n import _
from clusterwright.plan import memory, speed
from clusterwright.plan.run import Recompute, Run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.plan.memory import MemoryFit
    from clusterwright.plan.run import Layout

_WORTH = 0.005  # share of the time per sample: smaller gains are not listed


@dataclass(frozen=True, slots=True)
class LayoutChange:
    """One change with its effect on time per sample and memory."""

    description: str
    run: Run
    seconds: float  # per iteration with the change
    saved: float  # share of the time per sample; negative: slower
    memory_fit: MemoryFit


def changes(run: Run) -> tuple[LayoutChange, ...]:
    """Return all changes that reduce time per sample by over 0.5%, best first, including those that do not fit."""
    now = _per_sample(run)
    results = [
        LayoutChange(
            description,
            changed,
            float(speed.iteration(changed).total),
            1 - _per_sample(changed) / now,
            memory.classify_fit(memory.peak(changed), changed.machine.gpu),
        )
        for description, changed in _variants(run)
    ]
    return tuple(
        sorted((change for change in results if change.saved > _WORTH), key=lambda change: -change.saved)
    )


def _per_sample(run: Run) -> float:
    return float(speed.iteration(run).total) / run.training.global_batch


def _variants(run: Run) -> Iterator[tuple[str, Run]]:
    yield from _machines(run)
    yield from _trainings(run)
    yield from _recomputation(run)
    yield from _degrees(run)


def _machines(run: Run) -> Iterator[tuple[str, Run]]:
    """Yield the run with a network twice as fast, and 1000 times as fast (`unlimited`); nothing for a single node."""
    machine = run.machine
    if machine.gpus <= machine.gpus_per_node:
        return
    for description, times in ((_("network twice as fast"), 2.0), (_("unlimited network"), 1000.0)):
        network = replace(
            machine.network,
            nic_bytes_per_s=machine.network.nic_bytes_per_s * times,
            latency_s=machine.network.latency_s / times,
        )
        yield description, replace(run, machine=replace(machine, network=network))


def _trainings(run: Run) -> Iterator[tuple[str, Run]]:
    """Yield the run with twice the batch; with fp8 for 16 bits if the GPU has it; with flash attention if off."""
    work = run.training
    yield (
        _("global batch twice as large"),
        replace(run, training=replace(work, global_batch=2 * work.global_batch)),
    )
    if work.precision in {"bf16", "fp16"} and run.machine.gpu.peak.get("fp8"):
        yield (
            _("fp8 in place of {precision}", precision=work.precision),
            replace(run, training=replace(work, precision="fp8")),
        )
    if not work.flash_attention:
        yield _("flash attention"), replace(run, training=replace(work, flash_attention=True))


def _recomputation(run: Run) -> Iterator[tuple[str, Run]]:
    for kind in (Recompute.NONE, Recompute.SELECTIVE):
        if kind < run.layout.recompute:
            description = _("no recomputation") if kind is Recompute.NONE else _("selective recomputation")
            yield description, replace(run, layout=replace(run.layout, recompute=kind))


def _degrees(run: Run) -> Iterator[tuple[str, Run]]:
    """Yield the run with twice the microbatch, twice the interleaving, and tp, pp or cp halved and dp doubled.

    Variants that do not divide the batch, the layers or the degree are left out.
    """
    layout, share = run.layout, run.training.global_batch / run.layout.dp
    if share % (2 * layout.micro_batch) == 0:
        yield (
            _("microbatch twice as large"),
            replace(run, layout=replace(layout, micro_batch=2 * layout.micro_batch)),
        )
    if layout.pp > 1 and run.training.architecture.layers % (2 * layout.pp * layout.interleave) == 0:
        description = _(
            "{chunks} model chunks per stage in place of {current}",
            chunks=2 * layout.interleave,
            current=layout.interleave,
        )
        yield description, replace(run, layout=replace(layout, interleave=2 * layout.interleave))
    if run.training.global_batch % (2 * layout.dp * layout.micro_batch) == 0:
        halved = (
            ("tp", layout.tp, replace(layout, dp=2 * layout.dp, tp=layout.tp // 2)),
            ("pp", layout.pp, replace(layout, dp=2 * layout.dp, pp=layout.pp // 2)),
            ("cp", layout.cp, replace(layout, dp=2 * layout.dp, cp=layout.cp // 2)),
        )
        for name, value, variant in halved:
            if value % 2 == 0:
                description = _("{name} {degree} and dp {dp}", name=name, degree=value // 2, dp=variant.dp)
                yield description, replace(run, layout=_sound(variant))


def _sound(layout: Layout) -> Layout:
    """Return the layout without interleaving if it has no pipeline."""
    return layout if layout.pp > 1 else replace(layout, interleave=1)
