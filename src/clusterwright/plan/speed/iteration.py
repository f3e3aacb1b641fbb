"""Time of one iteration of a training, composed from the times of its layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.plan import flops
from clusterwright.plan.numbers import larger, log2, pick
from clusterwright.plan.prediction import Bound, Time
from clusterwright.plan.run import Offload
from clusterwright.plan.speed.data_parallel import data_parallel
from clusterwright.plan.speed.ends import ends
from clusterwright.plan.speed.layers import layer
from clusterwright.plan.speed.pipeline import bubble, layers_of, microbatches, sending, stages
from clusterwright.plan.speed.shards import shards, sharing

if TYPE_CHECKING:
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Run
    from clusterwright.plan.speed.coefficients import Rates
    from clusterwright.plan.speed.ends import Ends
    from clusterwright.plan.speed.layers import LayerTime
    from clusterwright.plan.speed.shards import Shards


def compose(run: Run, rates: Rates, layer_time: LayerTime, before_after: Ends) -> Time:
    """Predict the time of one iteration by its parts, in seconds.

    `layer_time` is that of one layer, `before_after` that of embedding, output projection and loss.
    """
    shard_counts = shards(run)
    send_s = sending(run, rates)
    stage = stages(run, layer_time, before_after, send_s)
    count = microbatches(run)
    passes = count * layers_of(run) / run.layout.pp  # layers that one GPU runs, forward and backward
    layer_total = layer_time.forward + layer_time.backward
    ideal = ideal_seconds(run, rates)
    end_share = count / run.layout.pp
    compute = passes * layer_total.compute + end_share * before_after.head
    parts = Time(
        ideal=ideal,
        inefficiency=larger(compute - ideal, 0.0),
        recompute=passes * layer_time.recompute,
        memory_bound=passes * layer_total.memory_bound
        + end_share * (before_after.loss + before_after.embedding),
        tensor_parallel=passes * layer_total.tensor,
        context_parallel=passes * layer_total.context,
        expert_parallel=passes * layer_total.expert,
        pipeline_bubble=bubble(run, layer_time, stage),
        pipeline_comm=count * send_s,
        data_parallel=data_parallel(run, rates, layer_time, shard_counts),
        optimizer=optimizer_step(run, rates, shard_counts),
        input=rates.fixed,
        jitter=0.0,
    )
    return with_jitter(run, rates, parts)


def with_jitter(run: Run, rates: Rates, time: Time) -> Time:
    """Return the time with `jitter`, the wait for the slowest GPU: a share for each doubling of GPUs beyond 8."""
    doublings = log2(larger(run.layout.gpus / 8, 1))
    jitter: Real = time.total * rates.jitter * doublings
    return Time(
        time.ideal,
        time.inefficiency,
        time.recompute,
        time.memory_bound,
        time.tensor_parallel,
        time.context_parallel,
        time.expert_parallel,
        time.pipeline_bubble,
        time.pipeline_comm,
        time.data_parallel,
        time.optimizer,
        time.input,
        jitter,
    )


def ideal_seconds(run: Run, rates: Rates) -> Real:
    """Return the seconds of the model FLOPs of one iteration at the peak of all GPUs."""
    training = run.training
    tokens = training.global_batch * training.seq_len
    return flops.training(training.architecture, training.seq_len) * tokens / (run.layout.gpus * rates.peak)


def time_of(run: Run, rates: Rates) -> Time:
    """Predict the time of one iteration of a run, by part."""
    return compose(run, rates, layer(run, rates), ends(run, rates))


LOSSES = {
    Bound.COMPUTE: ("inefficiency", "recompute", "optimizer", "jitter"),
    Bound.MEMORY_BANDWIDTH: ("memory_bound",),
    Bound.TENSOR_PARALLEL: ("tensor_parallel", "context_parallel"),
    Bound.PIPELINE_BUBBLE: ("pipeline_bubble", "pipeline_comm"),
    Bound.DATA_PARALLEL: ("data_parallel",),
    Bound.EXPERT: ("expert_parallel",),
    Bound.INPUT: ("input",),
}


def bound(time: Time) -> Bound:
    """Return the cause of the largest loss beyond the ideal time; for a single prediction, not arrays."""
    losses = {name: sum(getattr(time, part) for part in parts) for name, parts in LOSSES.items()}
    return max(losses, key=lambda name: losses[name])


# Bytes per parameter: gradient read for its norm and again for the step (4 + 4), master weight and two
# moments read and written (24), weight written (2). Eight bits: moments of one byte. SGD: one moment.
TRAFFIC = {"adam": 34, "adam8bit": 22, "sgd": 26}
ZEROING = 4  # bytes per unsharded parameter: gradients set to zero


def optimizer_step(run: Run, rates: Rates, shard_counts: Shards) -> Real:
    """Return the seconds of the optimizer step per iteration on one GPU; ZeRO 1 and above shard it over the replicas.

    With CPU offload it runs on the host.
    """
    layout = run.layout
    dense = shard_counts.dense / pick(layout.zero > 0, sharing(run, shard_counts.dense_ranks), 1)
    expert = shard_counts.expert / pick(layout.zero > 0, sharing(run, shard_counts.expert_ranks), 1)
    local_parameters = (dense + expert) * rates.trained
    zeroing = ZEROING * pick(layout.zero > 1, local_parameters, shard_counts.total * rates.trained)
    on_gpu = (TRAFFIC.get(run.training.optimizer, 34) * local_parameters + zeroing) / rates.bytes_per_s
    return pick(layout.offload > Offload.NONE, local_parameters * rates.host_step, on_gpu)
