"""Exposed seconds of summing gradients and gathering parameters between replicas."""

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

BUCKET, BUCKET_PER_RANK = 40e6, 1e6  # parameters of one message: Megatron-LM's ddp-bucket-size


def data_parallel(run: Run, rates: Rates, one: LayerTime, held: Shards) -> Real:
    """Of one iteration: ZeRO 0 to 2 exchange once, ZeRO 3 gathers every layer for every microbatch."""
    return pick(run.layout.zero > 2, gathering(run, rates, one, held), exchange(run, rates, one, held))


def exchange(run: Run, rates: Rates, one: LayerTime, held: Shards) -> Real:
    """Gradients reduced beneath the last backward pass, parameters gathered beneath the first forward pass."""
    per_stage = layers_of(run) / run.layout.pp
    gradients = reduced(run, rates, held)
    updated = pick(run.layout.zero > 0, gathered(run, rates, held), gradients)
    return shown(gradients, per_stage * one.backward.total, rates.data_exposed) + shown(
        updated, per_stage * one.forward.total, rates.data_exposed
    )


def reduced(run: Run, rates: Rates, held: Shards) -> Real:
    """One pass (half an all-reduce) of the gradients, dense and expert, each over its own group."""
    cut, size = run.layout, run.training.gradient_bytes * rates.trained
    dense = in_messages(
        run, size * held.dense, buckets(held.dense, held.dense_ranks), held.dense_ranks, cut.tp
    )
    ranks = held.expert_ranks
    return dense + in_messages(run, size * held.expert, buckets(held.expert, ranks), ranks, cut.ep * cut.etp)


def gathered(run: Run, rates: Rates, held: Shards) -> Real:
    """Updated weights in 16 bits, from those that share a copy; tensor by tensor where the software does so."""
    cut = run.layout
    least = pick(rates.gathers > 1, rates.gathers * layers_of(run) / cut.pp, 1)
    near, far = sharing(run, held.dense_ranks), sharing(run, held.expert_ranks)
    size = 2 * rates.trained
    dense = in_messages(run, size * held.dense, larger(buckets(held.dense, near), least), near, cut.tp)
    return dense + in_messages(run, size * held.expert, buckets(held.expert, far), far, cut.ep * cut.etp)


def buckets(parameters: Real, ranks: Real) -> Real:
    """Messages of Megatron-LM's DistributedDataParallel; a bucket grows with the group."""
    return larger(parameters / larger(BUCKET, BUCKET_PER_RANK * ranks), 1)


def in_messages(run: Run, size_bytes: Real, messages: Real, ranks: Real, stride: Real) -> Real:
    """A gather or scatter of so many bytes in so many messages."""
    one = links.gather(larger(size_bytes / messages, 1), ranks, run.machine, stride)
    return pick((ranks > 1) & (size_bytes > 0), messages * one, 0.0)


def shown(comm: Real, beneath: Real, share: float) -> Real:
    """What does not hide: a share of all, and of the rest what is longer than the compute above it."""
    return share * comm + (1 - share) * larger(comm - beneath, 0.0)


def gathering(run: Run, rates: Rates, one: LayerTime, held: Shards) -> Real:
    """Fully sharded: gather before forward and before backward, scatter gradients after, beside the layer next to it.

    What is hidden still slows the compute above it by `interference` of its own length.
    """
    cut = run.layout
    group = sharing(run, held.dense_ranks)
    layer_bytes = held.layer_dense + held.layer_expert
    pieces = rates.gathers / rates.sharded
    gather = pieces * links.gather(2 * layer_bytes / rates.gathers, group, run.machine, cut.tp)
    element = run.training.gradient_bytes * rates.trained
    gradients = element * layer_bytes
    scatter = links.gather(gradients, group, run.machine, cut.tp) / rates.sharded
    forward = larger(gather - one.forward.total, rates.interference * gather)
    backward_time = one.backward.total + one.recompute
    backward = larger(gather + scatter - backward_time, rates.interference * (gather + scatter))
    steps = layers_of(run) / cut.pp * microbatches(run)
    replicas = held.dense_ranks / group
    across = links.all_reduce(element * held.total / group, replicas, run.machine, group * cut.tp)
    return pick(group > 1, steps * (forward + backward), 0.0) + pick(replicas > 1, across, 0.0)
