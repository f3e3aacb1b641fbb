"""Time that pipeline parallelism adds: the bubble, uneven stages, communication between stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.plan.numbers import ceil, larger, pick, smaller
from clusterwright.plan.run import Schedule
from clusterwright.plan.speed import layers, links

if TYPE_CHECKING:
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Run
    from clusterwright.plan.speed.coefficients import Rates
    from clusterwright.plan.speed.ends import Ends
    from clusterwright.plan.speed.layers import LayerTime

# (Multiple of W that the bubble F + B + W of each stage no longer has, share of the rest that remains.) ZB-H1 leaves
# F + B - W, ZB-H2 F + B - 2 W (2401.10241, table 2); its automatic schedules with as much memory as ZB-H2 (ZB-2p)
# leave a third of that (same source, table 5), ZB-V too; DualPipe runs from both ends.
DEFERRED = {
    Schedule.ZB_H1: (2, 1.0),
    Schedule.ZB_H2: (3, 1 / 3),
    Schedule.ZB_V: (3, 1 / 3),
    Schedule.DUALPIPE: (3, 0.5),
}


@dataclass(frozen=True, slots=True)
class Stages:
    """Seconds of one microbatch, forward and backward, on the average and on the slowest stage."""

    average: Real
    fullest: Real


def microbatches(run: Run) -> Real:
    """Return the number of microbatches per replica and iteration."""
    return run.training.global_batch / (run.layout.dp * run.layout.micro_batch)


def stages(run: Run, layer_time: LayerTime, ends: Ends, sending: Real) -> Stages:
    """Compute the average and slowest stage; if layers do not divide, embedding and head count as a layer each.

    `sending`: exposed seconds per microbatch of communication with both neighbors; the last stage has only one.
    """
    pp, chunks = run.layout.pp, run.layout.pp * run.layout.interleave
    count = layers_of(run)
    average = (count * layer_time.total + ends.last + ends.embedding) / pp + sending
    padded = (count + 2) / chunks == ceil((count + 2) / chunks)
    even = count / chunks == ceil(count / chunks)
    most = pick(even, count / pp, pick(padded, (count + 2) / pp, ceil(count / pp)))
    last = pick(even, count / pp, pick(padded, (count + 2) / pp - 1, count - (pp - 1) * ceil(count / pp)))
    last_stage = larger(last, 0) * layer_time.total + ends.last + sending / 2
    return Stages(average, pick(pp > 1, larger(most * layer_time.total + sending, last_stage), average))


def bubble(run: Run, layer_time: LayerTime, stage: Stages) -> Real:
    """Return the idle seconds per iteration: filling and draining the pipeline, and waiting for the slowest stage."""
    # At least 0: the last stage communicates with one side only and may be faster than the mean.
    waiting = microbatches(run) * larger(stage.fullest - stage.average, 0)
    return waiting + fill(run, layer_time, stage) / run.layout.interleave


def fill(run: Run, layer_time: LayerTime, stage: Stages) -> Real:
    """Return seconds of filling and draining without interleaving: (p - 1)(F + B + W), less deferred work (2401.10241).

    Never below 0.
    """
    pp = run.layout.pp
    total = stage.average * pp - stage.fullest
    schedule = run.layout.schedule
    if schedule in {Schedule.AFAB, Schedule.ONE_F_ONE_B}:
        return larger(total, 0)
    enough = smaller(
        microbatches(run) / (2 * pp), 1
    )  # fewer microbatches leave too little weight-gradient work to defer
    # weight gradients: as many products as forward
    products = smaller(layer_time.backward.compute / 2, layer_time.forward.compute)
    weight = (pp - 1) / pp * products * layers_of(run) * enough
    deferred, factor = DEFERRED[schedule]
    return larger(factor * (total - deferred * weight), 0)


def layers_of(run: Run) -> float:
    """Return the number of layers of the whole model, multi-token-prediction layers included."""
    return run.training.architecture.layers + run.training.architecture.mtp_layers


def sending(run: Run, rates: Rates) -> Real:
    """Return the exposed seconds of pipeline communication per microbatch.

    Every chunk receives and sends activations and gradients.
    """
    layout = run.layout
    size = 2 * layers.tokens(run) * run.training.architecture.hidden / layout.tp
    send_s = links.send(size, run.machine, layout.gpus / layout.pp, layout.gpus)
    return pick(layout.pp > 1, 2 * layout.interleave * send_s * rates.pipeline_exposed, 0.0)
