"""What a pipeline adds: idle time while it fills and drains, uneven stages, sending between stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.plan.numbers import ceil, larger, pick
from clusterwright.plan.run import Schedule
from clusterwright.plan.speed import layers, links

if TYPE_CHECKING:
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Run
    from clusterwright.plan.speed.coefficients import Rates
    from clusterwright.plan.speed.ends import Ends
    from clusterwright.plan.speed.layers import LayerTime

# W that no longer stands in the bubble F + B + W of each stage: ZB-H1 leaves F + B - W (2401.10241, table 2);
# with twice the memory the automatic schedules of the same paper (ZB-2p, and ZB-V) come to F + B - 3 W.
DEFERRED = {Schedule.ZB_H1: 2, Schedule.ZB_H2: 4, Schedule.ZB_V: 4, Schedule.DUALPIPE: 3}


@dataclass(frozen=True, slots=True)
class Stages:
    """Seconds of one microbatch, forward and backward, by stage."""

    mean: Real
    fullest: Real


def microbatches(run: Run) -> Real:
    """How many each replica runs per iteration."""
    return run.training.global_batch / (run.layout.dp * run.layout.micro_batch)


def stages(run: Run, one: LayerTime, ends: Ends, sending: Real) -> Stages:
    """Layers as evenly as they go; where they do not, embedding and head take the place of a layer each.

    `sending` is one microbatch's exposed exchange with both neighbours; the last stage has only one.
    """
    pp, chunks = run.layout.pp, run.layout.pp * run.layout.interleave
    count = layers_of(run)
    mean = (count * one.total + ends.last + ends.embedding) / pp + sending
    padded = (count + 2) / chunks == ceil((count + 2) / chunks)
    even = count / chunks == ceil(count / chunks)
    most = pick(even, count / pp, pick(padded, (count + 2) / pp, ceil(count / pp)))
    last = pick(even, count / pp, pick(padded, (count + 2) / pp - 1, count - (pp - 1) * ceil(count / pp)))
    last_stage = larger(last, 0) * one.total + ends.last + sending / 2
    return Stages(mean, pick(pp > 1, larger(most * one.total + sending, last_stage), mean))


def bubble(run: Run, one: LayerTime, stage: Stages) -> Real:
    """Idle seconds of an iteration: while the pipeline fills and drains, and waiting for the fullest stage."""
    waiting = microbatches(run) * (stage.fullest - stage.mean)
    return waiting + fill(run, one, stage) / run.layout.interleave


def fill(run: Run, one: LayerTime, stage: Stages) -> Real:
    """Filling and draining without interleaving: (p - 1)(F + B + W), less what a schedule defers (2401.10241)."""
    pp = run.layout.pp
    whole = stage.mean * pp - stage.fullest
    schedule = run.layout.schedule
    if schedule in {Schedule.AFAB, Schedule.ONE_F_ONE_B}:
        return larger(whole, 0)
    weight = (pp - 1) / pp * one.backward.compute / 2 * layers_of(run)
    half = 0.5 if schedule is Schedule.DUALPIPE else 1.0
    return larger(half * (whole - DEFERRED[schedule] * weight), 0)


def layers_of(run: Run) -> float:
    """Layers of the whole model."""
    return run.training.architecture.layers + run.training.architecture.mtp_layers


def sending(run: Run, rates: Rates) -> Real:
    """Exposed seconds of one microbatch: activations in and out, gradients in and out, of every chunk."""
    cut = run.layout
    size = 2 * layers.tokens(run) * run.training.architecture.hidden / cut.tp
    one = links.send(size, run.machine, cut.gpus / cut.pp)
    return pick(cut.pp > 1, 2 * cut.interleave * one * rates.pipeline_exposed, 0.0)
