"""Which gradient reduction a network of some speed needs, and what that method costs in loss. No input or output.

Times are those of a ring all-reduce at line rate that overlaps the backward pass, so they are lower bounds. The cost in
loss was measured by bench/slow_network.py --losses; a training of another size has another cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from clusterwright.i18n import N_
from clusterwright.plan.cnn.step import BUCKET_BYTES, unhidden
from clusterwright.units import MiB

ENOUGH = 0.95  # compute share of a step that a method must reach
_SMALL = 4 * MiB  # bytes of a bucket; only the last bucket is exposed
_BYTES = 1.016 / 4  # int8 with a scale for each 256 numbers, of 32 bits
_POWER = 0.04  # PowerSGD of rank 8 on matrices 512 wide; half of it is sent after the backward pass


@dataclass(frozen=True, slots=True)
class Training:
    """A data-parallel training: gradient bytes of a rank, compute time of a step, hosts, and bytes/s of a host."""

    gradient_bytes: float
    compute_s: float
    hosts: int
    bytes_per_s: float

    def transfer_s(self, share: float = 1.0) -> float:
        """Return the seconds of a ring all-reduce of this share of the gradients (default: all), at line rate."""
        return 2 * (self.hosts - 1) / self.hosts * self.gradient_bytes * share / self.bytes_per_s


@dataclass(frozen=True, slots=True)
class GradientMethod:
    """A gradient reduction: its setting in the job file, share of the gradients sent per step, and cost in loss.

    `exposed_share` is the part of `share` that is sent after the backward pass.
    """

    setting: str
    share: float
    exposed_share: float
    bucket_bytes: float
    cost: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A gradient reduction, the step time with it, and the compute share of that step."""

    method: GradientMethod
    step_s: float
    efficiency: float


METHODS = (  # ordered by cost in loss, the cheapest first
    GradientMethod(N_("default"), 1.0, 0.0, BUCKET_BYTES, N_("none")),
    GradientMethod("gradients: {bucket: 4MiB}", 1.0, 0.0, _SMALL, N_("none")),
    GradientMethod(
        "gradients: {compress: bf16, bucket: 4MiB}",
        0.5,
        0.0,
        _SMALL,
        N_("loss within 1% of the default's (1.003 times)"),
    ),
    GradientMethod(
        "gradients: {compress: int8, bucket: 4MiB}", _BYTES, 0.0, _SMALL, N_("loss within 1% (0.998 times)")
    ),
    GradientMethod(
        "gradients: {compress: power, rank: 8}", _POWER, _POWER / 2, BUCKET_BYTES, N_("loss 1.02 times")
    ),
    GradientMethod(
        "outer: {every: 50, bits: 8, warm_up: 200}",
        _BYTES / 50,
        _BYTES / 50,
        BUCKET_BYTES,
        N_("loss 1.03 times"),
    ),
)


def judged(training: Training, methods: Sequence[GradientMethod] = METHODS) -> tuple[Judged, ...]:
    """Compute the step time and the compute share of each gradient reduction, in the order of `methods`."""
    return tuple(_judge(training, method) for method in methods)


def advised(training: Training) -> Judged:
    """Return the first (cheapest) method whose compute share is at least `ENOUGH`; if there is none, the fastest."""
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
