"""What was fitted on published images per second; `bench/accuracy/fit_cnn.py`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from clusterwright.catalog.fitted import coefficients

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.catalog.records import Gpu

# A die for computing has several times more matrix than vector throughput; a graphics die of Ampere has not
# (A100: 156 TFLOP/s of tf32 over 19.5 of fp32; A40: 75 over 37).
GRAPHICS_BELOW = 4.0
KIN = {"Turing": "Ampere graphics", "Blackwell graphics": "Ada", "Blackwell": "Hopper", "Pascal": "Volta"}


@dataclass(frozen=True, slots=True)
class Software:
    """One way of writing the training; times in seconds."""

    traffic_16: float  # reads and writes of each activation besides the convolution's own, mixed precision
    traffic_32: float  # in tf32 and fp32
    image_s: float  # of the GPU for one image, whatever the network: decoding, copying
    layer_s: float  # of one layer in one iteration, however small the batch: launches and tails of kernels
    exposed: float  # share of the gradients' all-reduce that the backward pass does not hide
    gradient_bytes: float  # of one element in mixed precision
    squeeze_16: float = 7.0  # reads and writes of squeeze and excitation's input, mixed precision
    squeeze_32: float = 7.0  # mean and product 3 times forward; 4 backward, for both factors
    compute: float = 1.0  # rate of its matrix products over that of a deep convolution
    joules: float = 1.0  # energy of its FLOPs, likewise


@dataclass(frozen=True, slots=True)
class Coefficients:
    """All of them."""

    compute: Mapping[
        str, float
    ]  # share of nominal peak of a deep convolution, by kind of die; clocks may be above nominal
    stream: Mapping[str, float]  # share of the memory's bandwidth, likewise
    software: Mapping[str, Software]
    rate: Mapping[str, float]  # of tf32 and of plain fp32: share of their peak over that of half precision
    group_width: (
        float  # channels of a group at which a grouped convolution reaches half of a copy's bandwidth
    )
    softness: float  # exponent of the sum of compute and memory time of one convolution
    depth: float  # inner products of this length run at half speed
    winograd: float  # how much faster 3x3 convolutions are in fp32 than their FLOPs say
    joule_per_flop: Mapping[
        str, float
    ]  # of half precision, by kind of die: a small power limit slows the clock
    jitter: float  # of an iteration, per doubling of the nodes


@cache
def stored() -> Coefficients:
    """What the package was shipped with."""
    return from_table(coefficients("cnn"))


def from_table(table: Mapping[str, Any]) -> Coefficients:
    """From the stored table; keys that start with an underscore are remarks."""
    values = {key: value for key, value in table.items() if not key.startswith("_")}
    values["software"] = {name: Software(**row) for name, row in values["software"].items()}
    return Coefficients(**values)


def die(gpu: Gpu) -> str:
    """The kind of chip: its architecture, and whether it is a graphics die; one never measured is its next of kin."""
    arch = gpu.arch.split(" ")[0]
    graphics = gpu.peak.get("tf32", 0.0) < GRAPHICS_BELOW * gpu.peak.get("fp32", 0.0)
    name = f"{arch} graphics" if graphics and arch in {"Ampere", "Blackwell"} else arch
    return KIN.get(name, name)
