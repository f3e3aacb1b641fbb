"""Time of one iteration, by what it goes into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.plan.numbers import pick
from clusterwright.plan.parameters import count
from clusterwright.plan.prediction import Time

if TYPE_CHECKING:
    from clusterwright.plan.run import Run

__all__ = ["iteration"]


def iteration(run: Run) -> Time:
    """Seconds of one optimiser step. A first version: 6 N D at half of the peak, a bubble, ring all-reduce."""
    cut, work = run.layout, run.training
    params = count(work.architecture)
    peak = run.machine.gpu.peak.get("bf16", 1e14)
    flops = 6 * params.total * work.global_batch * work.seq_len / cut.gpus
    microbatches = work.global_batch / cut.dp / cut.micro_batch
    busy = flops / peak * (2 + pick(cut.recompute == 2, 0.6, 0.0))
    return Time(
        ideal=flops / peak,
        inefficiency=flops / peak,
        recompute=busy - 2 * flops / peak,
        memory_bound=0.0,
        tensor_parallel=0.05 * busy * pick(cut.tp > 1, 1, 0),
        context_parallel=0.0,
        expert_parallel=0.0,
        pipeline_bubble=busy * (cut.pp - 1) / cut.interleave / microbatches,
        pipeline_comm=0.0,
        data_parallel=4 * params.total / cut.tp / cut.pp / run.machine.network.nic_bytes_per_s,
        optimizer=0.0,
        input=0.0,
        jitter=0.0,
    )
