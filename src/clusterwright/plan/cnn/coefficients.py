"""Coefficients of the CNN model, fitted by `bench/accuracy/fit_cnn.py` on published images per second."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from clusterwright.catalog.fitted import coefficients

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.catalog.records import Gpu

# A compute die has several times more matrix than vector throughput; a graphics die of Ampere does not
# (A100: 156 TFLOP/s of tf32 over 19.5 of fp32; A40: 75 over 37).
GRAPHICS_BELOW = 4.0
KIN = {"Turing": "Ampere graphics", "Blackwell graphics": "Ada", "Blackwell": "Hopper", "Pascal": "Volta"}


@dataclass(frozen=True, slots=True)
class Software:
    """Coefficients of one training implementation (framework and memory format); times in seconds."""

    traffic_16: float  # reads and writes of each activation besides the convolution's, mixed precision
    traffic_32: float  # the same in tf32 and fp32
    image_s: float  # GPU time per image, independent of the network: decoding, copying
    layer_s: float  # per layer and iteration, independent of the batch: launches and tails of kernels
    exposed: float  # share of the gradients' all-reduce that does not overlap the backward pass
    gradient_bytes: float  # bytes per gradient element in mixed precision
    squeeze_16: float = 7.0  # reads and writes of the input of squeeze-and-excitation, mixed precision
    squeeze_32: float = 7.0  # mean and product 3 times forward; 4 backward, for both factors
    compute: float = 1.0  # rate of its matrix products over that of a deep convolution
    joules: float = 1.0  # energy of its FLOPs over that of a deep convolution


@dataclass(frozen=True, slots=True)
class Coefficients:
    """All fitted coefficients of the CNN model."""

    compute: Mapping[str, float]  # share of nominal peak of a deep convolution, by kind of die; may exceed 1
    stream: Mapping[str, float]  # share of the memory's bandwidth, by kind of die
    software: Mapping[str, Software]
    rate: Mapping[str, float]  # of tf32 and fp32: share of peak reached, over that of half precision
    group_width: (
        float  # channels of a group at which a grouped convolution reaches half of a copy's bandwidth
    )
    softness: float  # exponent of the sum of compute and memory time of one convolution
    depth: float  # inner products of this length run at half speed
    winograd: float  # speed-up of 3x3 convolutions in fp32 over their FLOPs
    joule_per_flop: Mapping[
        str, float
    ]  # half precision, by kind of die: a small power limit lowers the clock
    jitter: float  # share of an iteration, per doubling of the nodes


@cache
def stored() -> Coefficients:
    """Return the CNN model's coefficients that are shipped with the package."""
    return from_table(coefficients("cnn"))


def from_table(table: Mapping[str, Any]) -> Coefficients:
    """Build `Coefficients` from a table; keys that start with an underscore are remarks and are ignored."""
    values = {key: value for key, value in table.items() if not key.startswith("_")}
    values["software"] = {name: Software(**row) for name, row in values["software"].items()}
    return Coefficients(**values)


def die(gpu: Gpu) -> str:
    """Return the key of a GPU's kind of die in the coefficients: its architecture, or e.g. `Ampere graphics`.

    Kinds without measurements have the key of the closest relative: `Ada` for Blackwell graphics dies.
    """
    arch = gpu.arch.split(" ")[0]
    graphics = gpu.peak.get("tf32", 0.0) < GRAPHICS_BELOW * gpu.peak.get("fp32", 0.0)
    name = f"{arch} graphics" if graphics and arch in {"Ampere", "Blackwell"} else arch
    return KIN.get(name, name)
