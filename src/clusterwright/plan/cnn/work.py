"""Seconds of one image's forward and backward pass on a GPU: convolutions, and the traffic between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.catalog.cnn import Convolution
from clusterwright.plan.cnn.coefficients import die
from clusterwright.plan.collectives.coefficients import nearest

if TYPE_CHECKING:
    from clusterwright.catalog.cnn import Cnn, Dense
    from clusterwright.catalog.gpu import Gpu
    from clusterwright.plan.cnn.coefficients import Coefficients, Software

TENSOR_CORE_WIDTH = 8  # channels of the narrowest tile (PTX mma m16n8k16): fewer in a group leave it idle
PASSES = 3  # forward, gradient of the input, gradient of the weights
# Squeeze and excitation, of its whole input: mean and product 3 times forward; 4 backward, for both factors.
SQUEEZE_TRAFFIC = 7
HALF = {"fp16", "bf16", "mixed", "amp"}


def peak(gpu: Gpu, precision: str) -> float:
    """FLOP/s of the matrix units; fp32 is tf32 where there is one, as frameworks set it for convolutions."""
    if precision in HALF:
        return gpu.peak.get("fp16") or gpu.peak.get("bf16") or gpu.peak["fp32"]
    return gpu.peak.get("tf32") or gpu.peak["fp32"]


def width(precision: str) -> int:
    """Bytes of one activation."""
    return 2 if precision in HALF else 4


@dataclass(frozen=True, slots=True)
class Work:
    """Seconds of a GPU for one image, forward and backward, without what an iteration costs by itself."""

    total: float
    compute: float  # of the matrix units, had they nothing to wait for
    memory: float  # of the memory, likewise


def work(network: Cnn, gpu: Gpu, precision: str, batch: float, how: Software, c: Coefficients) -> Work:
    """One image of a batch: the batch shares the reading of the weights."""
    kind, size = die(gpu), width(precision)
    stream = gpu.memory_bytes_per_s * nearest(c.stream, kind)
    flops = peak(gpu, precision) * nearest(c.compute, kind)
    plain = "tf32" not in gpu.peak and precision not in HALF
    layers, computes, memories = 0.0, 0.0, 0.0
    for index, layer in enumerate(network.layers):
        passes = PASSES if index else PASSES - 1  # nobody wants the gradient of the picture
        faster = c.winograd if plain and _is_winograd(layer) else 1.0
        compute = passes * layer.flops / (flops * faster * _filling(layer, c))
        memory = passes * size * (_elements(layer) + layer.weights / batch) / stream
        layers += (compute**c.softness + memory**c.softness) ** (1 / c.softness)
        computes, memories = computes + compute, memories + memory
    touched = _normed(network) * (how.traffic_16 if size == 2 else how.traffic_32)
    between = size * (touched + _squeezed(network) * SQUEEZE_TRAFFIC) / stream
    energy = network.flops * PASSES * nearest(c.joule_per_flop, kind) * size / 2
    limited = _limited(layers + between, energy / gpu.power_w if gpu.power_w else 0.0)
    return Work(limited + how.image_s, computes, memories + between)


def _limited(time: float, least: float) -> float:
    """Time under a power limit: near the limit the clock falls before it is reached."""
    return float((time**4 + least**4) ** 0.25)


def _is_winograd(layer: Convolution | Dense) -> bool:
    return isinstance(layer, Convolution) and layer.kernel == 3 and layer.stride == 1 and layer.groups == 1


def _filling(layer: Convolution | Dense, c: Coefficients) -> float:
    """Share of the matrix units' rate that the shape allows: long inner products, full tiles."""
    if not isinstance(layer, Convolution):
        return layer.inputs / (layer.inputs + c.depth)
    inner = layer.inputs // layer.groups * layer.kernel**2
    wide = layer.outputs / layer.groups
    return inner / (inner + c.depth) * wide / (wide + TENSOR_CORE_WIDTH)


def _elements(layer: Convolution | Dense) -> int:
    """Elements of one image that a pass reads and writes."""
    if not isinstance(layer, Convolution):
        return layer.inputs + layer.outputs
    return layer.inputs * layer.height * layer.width * layer.stride**2 + layer.elements


def _normed(network: Cnn) -> int:
    """Elements of one image that go through norms, activations and sums between convolutions."""
    return sum(layer.elements for layer in network.convolutions)


def _squeezed(network: Cnn) -> int:
    """Elements of one image that squeeze and excitation weighs: the output before each pair of 1x1 on one pixel."""
    layers = network.convolutions
    starts = [i for i in range(1, len(layers)) if layers[i].height == 1 < layers[i - 1].height]
    return sum(layers[index - 1].elements for index in starts)
