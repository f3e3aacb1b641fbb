"""What was inferred of a row gives way until the run fits: it ran, or is meant to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterwright.plan import memory
from clusterwright.plan.predict.meshes import meshes
from clusterwright.plan.run import Recompute

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.plan.predict.cells import Cells
    from clusterwright.plan.prediction import Memory
    from clusterwright.plan.run import Layout, Run

_SHORTEST = 512  # tokens
# What Megatron-Core can recompute at little cost (its `recompute-modules`); in years before, a few layers in full.
_CHEAP = ("core_attn", "layernorm", "moe_act", "mla_up_proj")
_FINE_SINCE = 2022


def fitting(run: Run, cells: Cells) -> tuple[Run, Memory]:
    """The run itself where it fits or nothing was inferred, else the nearest other choice that fits; with its peak."""
    held = memory.peak(run)
    if not cells.inferred or _fits(run, held):
        return run, held
    for other in _others(run, cells.inferred):
        peak = memory.peak(other)
        if _fits(other, peak):
            cells.note(f"taken with {_difference(run, other)}, as it does not fit otherwise")
            return other, peak
    return run, held


def _fits(run: Run, held: Memory) -> bool:
    return memory.fits(held, run.machine.gpu) is not memory.Fit.OOM


def _others(run: Run, inferred: set[str]) -> Iterator[Run]:
    """Smaller microbatches, experts cut by tp, finer meshes, then more recomputation, then shorter sequences."""
    for length in _lengths(run, inferred):
        work = replace(run.training, seq_len=length)
        for more in _recomputations(run, inferred):
            for cut in meshes(replace(run, layout=more), inferred):
                for etp in _expert_cuts(run, inferred):
                    for micro in _microbatches(run, inferred):
                        yield replace(run, training=work, layout=replace(cut, micro_batch=micro, etp=etp))


def _recomputations(run: Run, inferred: set[str]) -> Iterator[Layout]:
    """The layout as it is, then with ever more recomputed."""
    cut = run.layout
    yield cut
    if "recompute" not in inferred:
        return
    if cut.recompute < Recompute.SELECTIVE:
        yield replace(cut, recompute=Recompute.SELECTIVE)
    if run.stack.family == "megatron" and run.stack.year >= _FINE_SINCE:
        yield replace(cut, recompute=Recompute.SELECTIVE, recompute_modules=_CHEAP)
    if cut.recompute < Recompute.FULL:
        yield replace(cut, recompute=Recompute.FULL)


def _expert_cuts(run: Run, inferred: set[str]) -> Iterator[int]:
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


def _difference(run: Run, other: Run) -> str:
    """What was changed, in words."""
    cut = other.layout
    mesh = f"dp {cut.dp}, tp {cut.tp}, pp {cut.pp}, ep {cut.ep}"
    changed = [
        ((run.layout.dp, run.layout.ep) != (cut.dp, cut.ep), mesh),
        (run.training.seq_len != other.training.seq_len, f"sequences of {other.training.seq_len}"),
        (run.layout.micro_batch != cut.micro_batch, f"microbatch {cut.micro_batch}"),
        (run.layout.etp != cut.etp, f"experts cut by {cut.etp}"),
        (
            run.layout.recompute != cut.recompute,
            f"{Recompute(int(cut.recompute)).name.lower()} recomputation",
        ),
        (run.layout.recompute_modules != cut.recompute_modules, "norms and activation functions recomputed"),
    ]
    return ", ".join(words for is_changed, words in changed if is_changed)
