"""Seconds of the optimiser's step: memory traffic over the states that one GPU holds, or the host's pace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.plan.numbers import pick
from clusterwright.plan.run import Offload
from clusterwright.plan.speed.shards import sharing

if TYPE_CHECKING:
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Run
    from clusterwright.plan.speed.coefficients import Rates
    from clusterwright.plan.speed.shards import Shards

# Bytes per parameter: gradient read for its norm and again for the step (4 + 4), master weight and two
# moments read and written (24), weight written (2). Eight bits: moments of one byte. SGD: one moment.
TRAFFIC = {"adam": 34, "adam8bit": 22, "sgd": 26}
ZEROING = 4  # bytes per unsharded parameter: gradients set to zero


def optimizer_step(run: Run, rates: Rates, held: Shards) -> Real:
    """Of one iteration; ZeRO 1 and above share the states among the replicas."""
    cut = run.layout
    dense = held.dense / pick(cut.zero > 0, sharing(run, held.dense_ranks), 1)
    expert = held.expert / pick(cut.zero > 0, sharing(run, held.expert_ranks), 1)
    mine = (dense + expert) * rates.trained
    zeroing = ZEROING * pick(cut.zero > 1, mine, held.total * rates.trained)
    on_gpu = (TRAFFIC.get(run.training.optimizer, 34) * mine + zeroing) / rates.bytes_per_s
    return pick(cut.offload > Offload.NONE, mine * rates.host_step, on_gpu)
