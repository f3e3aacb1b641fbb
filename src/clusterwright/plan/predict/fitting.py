"""What was inferred of a row gives way until the run fits: it ran, or is meant to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterwright.plan import memory
from clusterwright.plan.run import Recompute

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.plan.predict.cells import Cells
    from clusterwright.plan.run import Run

_SHORTEST = 512  # tokens


def fitting(run: Run, cells: Cells) -> Run:
    """The run itself where it fits or nothing was inferred, else the nearest other choice that fits."""
    if not cells.inferred or fits(run):
        return run
    for other, change in _others(run, cells.inferred):
        if fits(other):
            cells.note(f"{change}, as it does not fit otherwise")
            return other
    return run


def fits(run: Run) -> bool:
    """True unless the run is called out of memory."""
    return memory.fits(memory.peak(run), run.machine.gpu) is not memory.Fit.OOM


def _others(run: Run, inferred: set[str]) -> Iterator[tuple[Run, str]]:
    """Smaller microbatches, then more recomputation, then shorter sequences."""
    micros = [int(run.layout.micro_batch)]
    while "micro_batch" in inferred and micros[-1] % 2 == 0:
        micros.append(micros[-1] // 2)
    kinds = [Recompute(int(run.layout.recompute))]
    if "recompute" in inferred:
        kinds += [kind for kind in (Recompute.SELECTIVE, Recompute.FULL) if kind > kinds[0]]
    for length in _lengths(run, inferred):
        for kind in kinds:
            for micro in micros:
                layout = replace(run.layout, recompute=kind, micro_batch=micro)
                other = replace(run, layout=layout, training=replace(run.training, seq_len=length))
                yield (
                    other,
                    f"taken as sequences of {length}, microbatch {micro}, recompute {kind.name.lower()}",
                )


def _lengths(run: Run, inferred: set[str]) -> Iterator[int]:
    seq_len = run.training.seq_len
    yield seq_len
    while "seq_len" in inferred and seq_len > _SHORTEST:
        seq_len //= 2
        yield seq_len
