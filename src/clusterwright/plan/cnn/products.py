"""Work of a network per sample: its matrix products and the element-wise operations between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import inf
from typing import TYPE_CHECKING

from clusterwright.catalog.cnn import Cnn, Convolution, Dense
from clusterwright.plan.parameters import count

if TYPE_CHECKING:
    from clusterwright.catalog.records import Architecture


PASSES = 3  # forward, gradient of the input, gradient of the weights


@dataclass(frozen=True, slots=True)
class Product:
    """One matrix product, or a convolution as implicit GEMM; for one sample, forward."""

    flops: float
    elements: float  # read and written
    weights: float  # read once for a whole batch
    inner: float  # length of an inner product
    wide: float  # output columns of one group
    passes: int = PASSES
    times: int = 1  # number of identical products
    winograd: bool = False  # a dense 3x3 of stride one
    group: float = inf  # input channels per group; infinite without groups


@dataclass(frozen=True, slots=True)
class Demand:
    """All work of one network for one sample."""

    products: tuple[Product, ...]
    layers: int  # launched one by one
    elementwise: float  # activation elements that norms, activation functions and sums process
    squeezed: float  # elements that squeeze-and-excitation scales
    parameters: float
    flops: float  # forward


@cache
def demand(network: Cnn | Encoder) -> Demand:
    """Count the matrix products and element-wise work of one sample; results are cached.

    The first layer of a CNN has one product less, as it needs no gradient of its input.
    """
    if isinstance(network, Encoder):
        return _of_encoder(network)
    # the first layer needs no gradient of its input
    products = [_of_layer(layer, PASSES if i else PASSES - 1) for i, layer in enumerate(network.layers)]
    elementwise = sum(layer.elements for layer in network.convolutions)
    return Demand(
        tuple(products), len(products), elementwise, _squeezed(network), network.parameters, network.flops
    )


def _of_layer(layer: Convolution | Dense, passes: int) -> Product:
    if not isinstance(layer, Convolution):
        elements = layer.inputs + layer.outputs
        return Product(layer.flops, elements, layer.weights, layer.inputs, layer.outputs, passes)
    inner = layer.inputs // layer.groups * layer.kernel**2
    elements = layer.inputs * layer.height * layer.width * layer.stride**2 + layer.elements
    winograd = layer.kernel == 3 and layer.stride == 1 and layer.groups == 1
    wide = layer.outputs / layer.groups
    group = layer.inputs / layer.groups if layer.groups > 1 else inf
    return Product(layer.flops, elements, layer.weights, inner, wide, passes, winograd=winograd, group=group)


def _squeezed(network: Cnn) -> float:
    """Return the number of elements that squeeze-and-excitation scales in one image.

    These are the outputs before each pair of 1x1 convolutions on one pixel.
    """
    layers = network.convolutions
    starts = [i for i in range(1, len(layers)) if layers[i].height == 1 < layers[i - 1].height]
    return float(sum(layers[index - 1].elements for index in starts))


def _of_encoder(network: Encoder) -> Demand:
    shape, tokens = network.architecture, network.seq_len
    hidden, ffn = shape.hidden, shape.ffn
    scores = shape.heads * tokens**2
    square = Product(
        2 * tokens * hidden**2, 2 * tokens * hidden, hidden**2, hidden, hidden, times=4 * shape.layers
    )
    wide = Product(
        2 * tokens * hidden * ffn, tokens * (hidden + ffn), hidden * ffn, hidden, ffn, times=2 * shape.layers
    )
    attention = Product(
        2 * tokens**2 * hidden,
        2 * tokens * hidden + scores,
        0,
        shape.head_dim,
        tokens,
        times=2 * shape.layers,
    )
    products = (square, wide, attention)
    elementwise = shape.layers * (tokens * (5 * hidden + ffn) + scores)
    flops = sum(product.flops * product.times for product in products)
    return Demand(
        products, sum(product.times for product in products), elementwise, 0.0, network.parameters, flops
    )


@dataclass(frozen=True, slots=True)
class Encoder:
    """An encoder such as BERT, on sequences padded to one length."""

    architecture: Architecture
    seq_len: int

    @property
    def parameters(self) -> float:
        """Number of parameters of the encoder."""
        return float(count(self.architecture).total)
