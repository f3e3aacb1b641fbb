"""Which way of adding up gradients a network of some speed needs, and what that way costs in what is learnt; pure.

Times are those of a ring at line rate beneath the backward pass, so they are the least there can be. What a way costs
was measured, by bench/slow_network.py --losses; a training of another size pays another price.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from clusterwright.plan.cnn.step import BUCKET_BYTES, unhidden
from clusterwright.units import MiB

ENOUGH = 0.95  # of a step; the goal of a slow network
_SMALL = 4 * MiB  # buckets, where the last one is what shows
_BYTES = 1.016 / 4  # int8 with a scale for each 256 numbers, of 32 bits
_POWER = 0.04  # rank 8 of matrices 512 wide; half of it goes when the backward pass is over


@dataclass(frozen=True, slots=True)
class Training:
    """One rank's gradients, its step without the network, the hosts that share the work, and the link of each."""

    gradient_bytes: float
    compute_s: float
    hosts: int
    bytes_per_s: float

    def transfer_s(self, share: float = 1.0) -> float:
        """What a ring takes for so much of the gradients."""
        return 2 * (self.hosts - 1) / self.hosts * self.gradient_bytes * share / self.bytes_per_s


@dataclass(frozen=True, slots=True)
class GradientMethod:
    """What the job file says for it, how much of the gradients travels in a step, and what it costs.

    `exposed_share` is the part of that which travels when the backward pass is over.
    """

    setting: str
    share: float
    exposed_share: float
    bucket_bytes: float
    cost: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A way, and the step that it makes."""

    way: GradientMethod
    step_s: float
    efficiency: float


METHODS = (  # the cheaper in what is learnt, the earlier
    GradientMethod("as it is", 1.0, 0.0, BUCKET_BYTES, "none"),
    GradientMethod("gradients: {bucket: 4MiB}", 1.0, 0.0, _SMALL, "none"),
    GradientMethod(
        "gradients: {compress: bf16, bucket: 4MiB}", 0.5, 0.0, _SMALL, "loss within 1 % (1.003 times)"
    ),
    GradientMethod(
        "gradients: {compress: int8, bucket: 4MiB}", _BYTES, 0.0, _SMALL, "loss within 1 % (0.998 times)"
    ),
    GradientMethod(
        "gradients: {compress: power, rank: 8}", _POWER, _POWER / 2, BUCKET_BYTES, "loss 1.02 times"
    ),
    GradientMethod(
        "outer: {every: 50, bits: 8, warm_up: 200}", _BYTES / 50, _BYTES / 50, BUCKET_BYTES, "loss 1.03 times"
    ),
)


def judged(training: Training, methods: Sequence[GradientMethod] = METHODS) -> tuple[Judged, ...]:
    """Each way in its turn."""
    return tuple(_judge(training, method) for method in methods)


def advised(training: Training) -> Judged:
    """The one that costs least of those that leave enough of a step; where none does, the fastest."""
    results = judged(training)
    return next(
        (result for result in results if result.efficiency >= ENOUGH),
        max(results, key=lambda result: result.efficiency),
    )


def _judge(training: Training, method: GradientMethod) -> Judged:
    beneath = method.share - method.exposed_share
    buckets = ceil(max(1.0, training.gradient_bytes / method.bucket_bytes))
    hidden = training.transfer_s(beneath) if beneath else 0.0
    exposed_s = unhidden(hidden / buckets, buckets, training.compute_s, 0.0) + training.transfer_s(
        method.exposed_share
    )
    step_s = training.compute_s + exposed_s
    return Judged(method, step_s, training.compute_s / step_s)
