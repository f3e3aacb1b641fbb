"""Parameters on one GPU after model parallelism, which determine data-parallel communication."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.plan import parameters
from clusterwright.plan.numbers import pick

if TYPE_CHECKING:
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Run


@dataclass(frozen=True, slots=True)
class Shards:
    """Parameters on one GPU of the largest stage, and the sizes of the groups that reduce their gradients."""

    dense: Real
    expert: Real
    dense_ranks: Real
    expert_ranks: Real
    layer_dense: Real  # of one mean layer
    layer_expert: Real

    @property
    def total(self) -> Real:
        """Number of all parameters on the GPU, dense and expert."""
        return self.dense + self.expert


def shards(run: Run) -> Shards:
    """Count the parameters on one GPU; the first stage with its embedding counts as the largest."""
    layout = run.layout
    count = parameters.count(run.training.architecture)
    routed = count.expert * count.experts * (count.moe_layers + (count.mtp_layers if count.moe_layers else 0))
    ends = count.embedding + count.head
    body = count.total - routed - ends
    layer_dense = body / count.layers / layout.tp
    layer_expert = routed / count.layers / (layout.ep * layout.etp)
    edge = pick(layout.pp > 1, count.embedding, ends) / layout.tp
    ranks = layout.dp * layout.cp
    return Shards(
        dense=layer_dense * count.layers / layout.pp + edge,
        expert=layer_expert * count.layers / layout.pp,
        dense_ranks=ranks,
        expert_ranks=ranks * layout.tp / (layout.ep * layout.etp),
        layer_dense=layer_dense,
        layer_expert=layer_expert,
    )


def sharing(run: Run, ranks: Real) -> Real:
    """Return the number of GPUs that ZeRO shards one copy over, out of `ranks` GPUs with the same parameters."""
    limit = run.layout.shard
    return pick(limit > 0, pick(limit < ranks, limit, ranks), ranks)
