"""Global batch and microbatch of a row."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

from clusterwright.plan.predict.words import says

if TYPE_CHECKING:
    from clusterwright.plan.predict.cells import Cells
    from clusterwright.plan.predict.setting import Setting

# In torchtitan's pipelines (its commit 5e2033c, 2025-04); before, as many microbatches as stages.
_ONE_SEQUENCE_SINCE = 2025
_TOKENS = 2**22  # of a step where no batch is given: LLaMA-2 and most models of 7B and more train with 4M


def batch_of(cells: Cells, setting: Setting, dp: int, pp: int) -> tuple[int, int]:
    """Global batch and microbatch, in sequences."""
    batch, micro = cells.whole("global_batch"), cells.whole("micro_batch")
    steps = setting.settings.get("GA") or setting.settings.get("GAS") or setting.settings.get("grad_accum")
    if micro is None and batch and steps and steps.isdigit() and batch % (dp * int(steps)) == 0:
        micro = batch // (dp * int(steps))
        cells.note(f"microbatch not given: {micro}, from the gradient accumulation in the notes")
    if batch is None:
        unit = dp * (micro or 1)
        batch = max(1, _TOKENS // (cells.whole("seq_len") or 2048) // unit) * unit
        cells.note(f"global batch not given: {batch} sequences, of about 4 million tokens")
    if micro is None:
        share = batch // dp if batch % dp == 0 else 1
        stages = says(cells, "torchtitan") and setting.stack.year < _ONE_SEQUENCE_SINCE and share % pp == 0
        micro = share // pp if stages and pp > 1 else usual_micro_batch(share, pp)
        cells.note(f"microbatch not given: {micro}", "micro_batch")
    if batch % (dp * micro):
        cells.wrong(
            "predict-batch-indivisible",
            f"global_batch {batch} is not divisible by dp x micro_batch = {dp} x {micro}",
            "give a global_batch that is a multiple of it",
        )
    return batch, micro


def usual_micro_batch(share: int, pp: int) -> int:
    """Under a pipeline 1, against the bubble; else the largest up to 4 that divides a replica's share."""
    return 1 if pp > 1 else gcd(share, 4)
