"""Adjustment of inferred values until a run fits into memory, since published runs did fit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterwright.i18n import _
from clusterwright.plan import memory
from clusterwright.plan.predict.meshes import meshes
from clusterwright.plan.run import Recompute

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.plan.predict.cells import Cells
    from clusterwright.plan.prediction import Memory
    from clusterwright.plan.run import Layout, Run

_SHORTEST = 512  # tokens
# What Megatron-Core can recompute at little cost (its `recompute-modules`); earlier versions: a few layers in full.
_CHEAP = ("core_attn", "layernorm", "moe_act", "mla_up_proj")
_FINE_SINCE = 2022


def fitting(run: Run, cells: Cells) -> tuple[Run, Memory]:
    """Return (run, peak memory): the run if it fits or nothing was inferred, else its nearest variant that fits.

    Only inferred values vary. A variant adds a note; if none fits, the run itself is returned, without one.
    """
    peak_memory = memory.peak(run)
    if not cells.inferred or _is_feasible(run, peak_memory):
        return run, peak_memory
    for variant in _variants(run, cells.inferred):
        peak = memory.peak(variant)
        if _is_feasible(variant, peak):
            cells.note(
                _(
                    "assumed {difference}, as the run does not fit otherwise",
                    difference=_difference(run, variant),
                )
            )
            return variant, peak
    return run, peak_memory


def _is_feasible(run: Run, peak_memory: Memory) -> bool:
    return memory.classify_fit(peak_memory, run.machine.gpu) is not memory.MemoryFit.OOM


def _variants(run: Run, inferred: set[str]) -> Iterator[Run]:
    """Yield the run's variants in what was inferred: smaller microbatches, finer meshes, recomputation and others.

    The others are experts sharded by tp and, last, shorter sequences.
    """
    for length in _lengths(run, inferred):
        work = replace(run.training, seq_len=length)
        for more in _recomputations(run, inferred):
            for layout in meshes(replace(run, layout=more), inferred):
                for etp in _expert_tensor_degrees(run, inferred):
                    for micro in _microbatches(run, inferred):
                        yield replace(run, training=work, layout=replace(layout, micro_batch=micro, etp=etp))


def _recomputations(run: Run, inferred: set[str]) -> Iterator[Layout]:
    """Yield the layout; then, if recomputation was inferred, variants with more of it: selective, per module, full.

    Per module only for Megatron of recent years.
    """
    layout = run.layout
    yield layout
    if "recompute" not in inferred:
        return
    if layout.recompute < Recompute.SELECTIVE:
        yield replace(layout, recompute=Recompute.SELECTIVE)
    if run.stack.family == "megatron" and run.stack.year >= _FINE_SINCE:
        yield replace(layout, recompute=Recompute.SELECTIVE, recompute_modules=_CHEAP)
    if layout.recompute < Recompute.FULL:
        yield replace(layout, recompute=Recompute.FULL)


def _expert_tensor_degrees(run: Run, inferred: set[str]) -> Iterator[int]:
    yield int(run.layout.etp)
    if "etp" in inferred and run.layout.tp > run.layout.etp:
        yield int(run.layout.tp)  # Megatron-Core's default


def _microbatches(run: Run, inferred: set[str]) -> Iterator[int]:
    micro = int(run.layout.micro_batch)
    yield micro
    while "micro_batch" in inferred and micro % 2 == 0:
        micro //= 2
        yield micro


def _lengths(run: Run, inferred: set[str]) -> Iterator[int]:
    seq_len = run.training.seq_len
    yield seq_len
    while "seq_len" in inferred and seq_len > _SHORTEST:
        seq_len //= 2
        yield seq_len


def _difference(run: Run, variant: Run) -> str:
    """Describe the settings in which a variant differs from the run, as text for a note."""
    layout = variant.layout
    mesh = f"dp {layout.dp}, tp {layout.tp}, pp {layout.pp}, ep {layout.ep}"
    changed = [
        ((run.layout.dp, run.layout.ep) != (layout.dp, layout.ep), mesh),
        (
            run.training.seq_len != variant.training.seq_len,
            _("sequences of {length} tokens", length=variant.training.seq_len),
        ),
        (run.layout.micro_batch != layout.micro_batch, _("microbatch {size}", size=layout.micro_batch)),
        (run.layout.etp != layout.etp, _("experts sharded by {degree}", degree=layout.etp)),
        (
            run.layout.recompute != layout.recompute,
            _("recomputation: {kind}", kind=Recompute(int(layout.recompute)).name.lower()),
        ),
        (
            run.layout.recompute_modules != layout.recompute_modules,
            _("norms and activation functions recomputed"),
        ),
    ]
    return ", ".join(description for is_changed, description in changed if is_changed)
