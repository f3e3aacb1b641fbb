"""Peak memory of the fullest GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.plan.numbers import ceil, pick, smaller
from clusterwright.plan.parameters import count
from clusterwright.plan.prediction import Memory

if TYPE_CHECKING:
    from clusterwright.plan.run import Run

__all__ = ["peak"]


def peak(run: Run) -> Memory:
    """Bytes on the first pipeline stage. A first version: Korthikanti's activations, no MoE."""
    cut, model, work = run.layout, run.training.architecture, run.training
    params = count(model)
    layers = ceil(model.layers / cut.pp)
    own = layers / model.layers * (params.total - params.embedding - params.head) / cut.tp
    own = own + params.embedding / cut.tp
    shard = cut.dp * cut.cp
    states = pick(cut.zero >= 1, shard, 1)
    tokens = work.seq_len / cut.cp * cut.micro_batch
    per_layer = tokens * model.hidden * pick(cut.recompute == 2, 2.0, 34.0 / cut.tp)
    in_flight = smaller(cut.pp, work.global_batch / cut.dp / cut.micro_batch)
    return Memory(
        weights=2 * own / pick(cut.zero >= 3, shard, 1),
        gradients=work.gradient_bytes * own / pick(cut.zero >= 2, shard, 1),
        optimizer=12 * own / states,
        activations=per_layer * layers * in_flight,
        transients=tokens * model.vocab / cut.tp * 4.0,
        fragmentation=0.5e9,
        context=1.5e9,
    )
