"""GPU time of one sample's forward and backward pass: matrix products and the memory traffic between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.plan.cnn.coefficients import die
from clusterwright.plan.cnn.products import PASSES, demand
from clusterwright.plan.collectives.coefficients import nearest

if TYPE_CHECKING:
    from clusterwright.catalog.cnn import Cnn
    from clusterwright.catalog.records import Gpu
    from clusterwright.plan.cnn.coefficients import Coefficients, Software
    from clusterwright.plan.cnn.products import Encoder, Product

TENSOR_CORE_WIDTH = (
    8  # channels of the narrowest tile (PTX mma m16n8k16): groups with fewer leave part of it idle
)
HALF = {"fp16", "bf16", "mixed", "amp"}


def peak(gpu: Gpu, precision: str) -> float:
    """Return the peak FLOP/s of the matrix units.

    The peak is that of fp16 (else bf16, fp32) for 16 bits, of tf32 (else fp32) for other precisions.
    """
    if precision in HALF:
        return gpu.peak.get("fp16") or gpu.peak.get("bf16") or gpu.peak["fp32"]
    return gpu.peak.get("tf32") or gpu.peak["fp32"]


def width(precision: str) -> int:
    """Return the bytes per activation element: 2 in half precision, else 4."""
    return 2 if precision in HALF else 4


@dataclass(frozen=True, slots=True)
class CnnWork:
    """GPU seconds per sample, forward and backward, without costs per iteration."""

    total: float
    compute: float  # of the matrix units alone
    memory: float  # of the memory traffic alone


def work(
    network: Cnn | Encoder, gpu: Gpu, precision: str, batch: float, how: Software, c: Coefficients
) -> CnnWork:
    """Predict the GPU seconds of training per sample, forward and backward: in total, of compute and of memory alone.

    `batch` is the number of samples for which weights are read once.
    """
    network_demand, kind, size = demand(network), die(gpu), width(precision)
    stream = gpu.memory_bytes_per_s * nearest(c.stream, kind)
    is_fp32 = "tf32" not in gpu.peak and size == 4
    rate = 1.0 if size == 2 else c.rate["fp32" if is_fp32 else "tf32"]
    flops = peak(gpu, precision) * nearest(c.compute, kind) * how.compute * rate
    products, computes, memories = 0.0, 0.0, 0.0
    for product in network_demand.products:
        count = product.passes * product.times
        faster = c.winograd if is_fp32 and product.winograd else 1.0
        compute = count * product.flops / (flops * faster * _filling(product, c))
        memory = count * size * (product.elements + product.weights / batch) / stream
        memory *= 1 + c.group_width / product.group
        products += (compute**c.softness + memory**c.softness) ** (1 / c.softness)
        computes, memories = computes + compute, memories + memory
    touched = network_demand.elementwise * (how.traffic_16 if size == 2 else how.traffic_32)
    squeezed = network_demand.squeezed * (how.squeeze_16 if size == 2 else how.squeeze_32)
    elementwise_s = size * (touched + squeezed) / stream
    energy = network_demand.flops * PASSES * nearest(c.joule_per_flop, kind) * how.joules * size / 2
    limited = _limited(products + elementwise_s, energy / gpu.power_w if gpu.power_w else 0.0)
    return CnnWork(limited + how.image_s, computes, memories + elementwise_s)


def _limited(time: float, least: float) -> float:
    """Return the time under a power limit, smoothed: the clock falls before the limit is reached.

    `least` is energy over power.
    """
    return float((time**4 + least**4) ** 0.25)


def _filling(product: Product, c: Coefficients) -> float:
    """Return the share of the matrix units' peak that a product's shape reaches: long inner products, full tiles."""
    return product.inner / (product.inner + c.depth) * product.wide / (product.wide + TENSOR_CORE_WIDTH)
