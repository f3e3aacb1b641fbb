"""Exposed time of data-parallel communication: reducing gradients and gathering parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.plan.numbers import larger, pick
from clusterwright.plan.speed import links
from clusterwright.plan.speed.pipeline import layers_of, microbatches
from clusterwright.plan.speed.shards import sharing

if TYPE_CHECKING:
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Run
    from clusterwright.plan.speed.coefficients import Rates
    from clusterwright.plan.speed.layers import LayerTime
    from clusterwright.plan.speed.shards import Shards

BUCKET, BUCKET_PER_RANK = 40e6, 1e6  # parameters per message: Megatron-LM's ddp-bucket-size


def data_parallel(run: Run, rates: Rates, layer_time: LayerTime, shard_counts: Shards) -> Real:
    """Return the exposed seconds of data-parallel communication per iteration.

    ZeRO 0 to 2 communicate once, ZeRO 3 gathers every layer for every microbatch.
    """
    return pick(
        run.layout.zero > 2,
        gathering(run, rates, layer_time, shard_counts),
        exchange(run, rates, layer_time, shard_counts),
    )


def exchange(run: Run, rates: Rates, layer_time: LayerTime, shard_counts: Shards) -> Real:
    """Return the exposed seconds of data-parallel communication per iteration with ZeRO 0 to 2.

    Gradients overlap the last backward pass, parameters the first forward pass.
    """
    per_stage = layers_of(run) / run.layout.pp
    gradients = reduced(run, rates, shard_counts)
    updated = pick(run.layout.zero > 0, gathered(run, rates, shard_counts), gradients)
    return exposed_seconds(
        gradients, per_stage * layer_time.backward.total, rates.data_exposed
    ) + exposed_seconds(updated, per_stage * layer_time.forward.total, rates.data_exposed)


def reduced(run: Run, rates: Rates, shard_counts: Shards) -> Real:
    """Return seconds of one reduce-scatter of all gradients, dense and expert, each over its data-parallel group."""
    layout, size = run.layout, run.training.gradient_bytes * rates.trained
    dense = in_messages(
        run,
        size * shard_counts.dense,
        buckets(shard_counts.dense, shard_counts.dense_ranks),
        shard_counts.dense_ranks,
        layout.tp,
    )
    ranks = shard_counts.expert_ranks
    return dense + in_messages(
        run, size * shard_counts.expert, buckets(shard_counts.expert, ranks), ranks, layout.ep * layout.etp
    )


def gathered(run: Run, rates: Rates, shard_counts: Shards) -> Real:
    """Return the seconds of gathering updated weights in 16 bits over the shard groups.

    Tensor by tensor in old DeepSpeed.
    """
    layout = run.layout
    least = pick(rates.gathers > 1, rates.gathers * layers_of(run) / layout.pp, 1)
    dense_group, expert_group = (
        sharing(run, shard_counts.dense_ranks),
        sharing(run, shard_counts.expert_ranks),
    )
    size = 2 * rates.trained
    dense = in_messages(
        run,
        size * shard_counts.dense,
        larger(buckets(shard_counts.dense, dense_group), least),
        dense_group,
        layout.tp,
    )
    return dense + in_messages(
        run,
        size * shard_counts.expert,
        buckets(shard_counts.expert, expert_group),
        expert_group,
        layout.ep * layout.etp,
    )


def buckets(parameters: Real, ranks: Real) -> Real:
    """Return the number of buckets of Megatron-LM's DistributedDataParallel; their size grows with the group."""
    return larger(parameters / larger(BUCKET, BUCKET_PER_RANK * ranks), 1)


def in_messages(run: Run, size_bytes: Real, messages: Real, ranks: Real, stride: Real) -> Real:
    """Return seconds of a gather or scatter of `size_bytes` in total, split into `messages` messages; 0 for one rank.

    The ranks of the group are `stride` GPUs apart.
    """
    message_s = links.gather(larger(size_bytes / messages, 1), ranks, run.machine, stride)
    return pick((ranks > 1) & (size_bytes > 0), messages * message_s, 0.0)


def exposed_seconds(comm: Real, beneath: Real, share: float) -> Real:
    """Return the exposed seconds of communication, those that no compute hides.

    They are a share of the communication, and the excess of the rest over the compute that the rest overlaps.
    """
    return share * comm + (1 - share) * larger(comm - beneath, 0.0)


def gathering(run: Run, rates: Rates, layer_time: LayerTime, shard_counts: Shards) -> Real:
    """Return the exposed seconds with ZeRO 3: gathers of parameters and scatters of gradients overlap the next layer.

    Overlapped communication still slows compute by `interference` times its duration.
    """
    layout = run.layout
    group = sharing(run, shard_counts.dense_ranks)
    layer_bytes = shard_counts.layer_dense + shard_counts.layer_expert
    pieces = rates.gathers / rates.sharded
    gather = pieces * links.gather(2 * layer_bytes / rates.gathers, group, run.machine, layout.tp)
    element = run.training.gradient_bytes * rates.trained
    gradients = element * layer_bytes
    scatter = links.gather(gradients, group, run.machine, layout.tp) / rates.sharded
    forward = larger(gather - layer_time.forward.total, rates.interference * gather)
    backward_time = layer_time.backward.total + layer_time.recompute
    backward = larger(gather + scatter - backward_time, rates.interference * (gather + scatter))
    steps = layers_of(run) / layout.pp * microbatches(run)
    replicas = shard_counts.dense_ranks / group
    replica_s = links.all_reduce(
        element * shard_counts.total / group, replicas, run.machine, group * layout.tp
    )
    return pick(group > 1, steps * (forward + backward), 0.0) + pick(replicas > 1, replica_s, 0.0)
