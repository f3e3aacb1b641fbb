"""Convolutional networks as lists of layers, from which FLOPs, bytes and parameters are counted.

Sources: ResNet (He et al. 1512.03385; stride in the 3x3, as v1.5 of torchvision and NVIDIA), ResNeXt (1611.05431),
Wide ResNet (1605.07146), VGG (1409.1556), MobileNetV2 (1801.04381), EfficientNet (1905.11946).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise
from math import ceil

from clusterwright.errors import EXIT_USAGE, WrightError, unknown_name_fix
from clusterwright.i18n import _


@dataclass(frozen=True, slots=True)
class Convolution:
    """One convolution on one image, with the batch norm that follows it."""

    inputs: int  # channels
    outputs: int
    kernel: int  # side of the square kernel
    stride: int
    groups: int
    height: int  # of the output, elements
    width: int
    norm: bool = True  # a batch norm follows
    bias: bool = False

    @property
    def weights(self) -> int:
        """Number of parameters, those of the norm and the bias included."""
        kernel_weights = self.outputs * self.inputs // self.groups * self.kernel**2
        return kernel_weights + self.outputs * (2 * self.norm + self.bias)

    @property
    def elements(self) -> int:
        """Number of elements of the convolution's output for one image."""
        return self.outputs * self.height * self.width

    @property
    def flops(self) -> int:
        """FLOPs of the forward pass for one image; a multiply and an add count as two."""
        return 2 * self.elements * self.inputs // self.groups * self.kernel**2


@dataclass(frozen=True, slots=True)
class Dense:
    """One matrix with a bias."""

    inputs: int
    outputs: int

    @property
    def weights(self) -> int:
        """Number of parameters of the matrix and its bias."""
        return (self.inputs + 1) * self.outputs

    @property
    def flops(self) -> int:
        """FLOPs of the forward pass; a multiply and an add count as two."""
        return 2 * self.inputs * self.outputs


@dataclass(frozen=True, slots=True)
class Cnn:
    """A network for images of one size."""

    name: str
    image: int  # side in pixels
    convolutions: tuple[Convolution, ...]
    dense: tuple[Dense, ...]
    source: str

    @property
    def layers(self) -> tuple[Convolution | Dense, ...]:
        """All layers with weights, in order."""
        return (*self.convolutions, *self.dense)

    @property
    def parameters(self) -> int:
        """Number of parameters of all layers."""
        return sum(layer.weights for layer in self.layers)

    @property
    def flops(self) -> int:
        """Forward FLOPs of one image; training takes three times that (with the first layer's input gradient)."""
        return sum(layer.flops for layer in self.layers)


@dataclass(slots=True)
class _Builder:
    """Collects a network's convolutions and tracks channels and image size from layer to layer."""

    channels: int
    side: int
    layers: list[Convolution] = field(default_factory=list)

    def conv(self, outputs: int, kernel: int, stride: int = 1, groups: int = 1, *, norm: bool = True) -> None:
        """Add a convolution padded to keep the size, halved by a stride of two, with `groups` groups of channels.

        Without `norm` it has a bias in place of a batch norm.
        """
        self.side = ceil(self.side / stride)
        self.layers.append(
            Convolution(
                self.channels, outputs, kernel, stride, groups, self.side, self.side, norm=norm, bias=not norm
            )
        )
        self.channels = outputs

    def shortcut(self, inputs: int, outputs: int, stride: int) -> None:
        """Add the 1x1 convolution of a residual shortcut; callers do so where a block's output shape differs."""
        self.layers.append(Convolution(inputs, outputs, 1, stride, 1, self.side, self.side))

    def squeeze(self, width: int) -> None:
        """Add squeeze and excitation: two 1x1 convolutions on the mean of the image."""
        self.layers.append(Convolution(self.channels, width, 1, 1, 1, 1, 1, norm=False, bias=True))
        self.layers.append(Convolution(width, self.channels, 1, 1, 1, 1, 1, norm=False, bias=True))


def network(name: str, image: int = 0, classes: int = 1000) -> Cnn:
    """Return the network that a name means (`resnet50`, `ResNet-50 v1.5 (ImageNet)`), for `image` x `image` pixels.

    `image` 0 is the network's usual training size.

    Raises:
        WrightError: `unknown-network`.
    """
    normalized_name = re.sub(r"\([^)]*\)|\bv1(\.5)?\b", " ", name.lower())
    slug = re.sub(r"^rn(?=\d)", "resnet", re.sub(r"[^a-z0-9]", "", normalized_name))
    if slug not in _NETWORKS:
        fix = unknown_name_fix(slug, networks(), _("known: {names}", names=", ".join(networks())))
        raise WrightError.from_code(
            "unknown-network", _("`{name}` is not a known network", name=name), fix, exit_code=EXIT_USAGE
        )
    return _built(slug, image, classes)


def networks() -> list[str]:
    """Return the names of all convolutional networks in the catalog."""
    return list(_NETWORKS)


@cache
def _built(slug: str, image: int, classes: int) -> Cnn:
    usual, build, source = _NETWORKS[slug]
    side = image or usual
    layers = _Builder(3, side)
    heads = build(layers)
    sizes = [*heads, classes]
    dense = tuple(Dense(a, b) for a, b in pairwise(sizes))
    return Cnn(slug, side, tuple(layers.layers), dense, source)


def _resnet(
    to: _Builder,
    blocks: tuple[int, ...],
    *,
    deep: bool,
    group_width: int = 0,
    wide: int = 1,
    squeeze: int = 0,
) -> list[int]:
    """Add basic blocks (3x3, 3x3) or bottleneck blocks (`deep`: 1x1, 3x3, 1x1); ResNeXt's 3x3 has 32 groups.

    Returns the widths of the inputs of the dense layers. `squeeze`: factor by which squeeze and excitation after
    each block reduces the channels; 0: none.
    """
    to.conv(64, 7, 2)
    to.side = ceil(to.side / 2)  # max pooling
    for stage, count in enumerate(blocks):
        width = 64 << stage
        for block in range(count):
            stride = 2 if stage and not block else 1
            inputs = to.channels
            if deep:
                inner = 32 * group_width << stage if group_width else width * wide
                to.conv(inner, 1)
                to.conv(inner, 3, stride, 32 if group_width else 1)
                to.conv(4 * width, 1)
                if squeeze:
                    to.squeeze(to.channels // squeeze)
            else:
                to.conv(width, 3, stride)
                to.conv(width, 3)
            if inputs != to.channels or stride != 1:
                to.shortcut(inputs, to.channels, stride)
    return [to.channels]


def _vgg(to: _Builder, blocks: tuple[int, ...]) -> list[int]:
    for stage, count in enumerate(blocks):
        for _ignored in range(count):
            to.conv(min(64 << stage, 512), 3, norm=False)
        to.side //= 2  # max pooling
    return [to.channels * 7 * 7, 4096, 4096]


# kernel, expansion, channels, repeats, stride (EfficientNet table 1; MobileNetV2 table 2)
_EFFICIENT = (
    (3, 1, 16, 1, 1), (3, 6, 24, 2, 2), (5, 6, 40, 2, 2), (3, 6, 80, 3, 2),
    (5, 6, 112, 3, 1), (5, 6, 192, 4, 2), (3, 6, 320, 1, 1),
)  # fmt: skip
_MOBILE = (
    (3, 1, 16, 1, 1), (3, 6, 24, 2, 2), (3, 6, 32, 3, 2), (3, 6, 64, 4, 2),
    (3, 6, 96, 3, 1), (3, 6, 160, 3, 2), (3, 6, 320, 1, 1),
)  # fmt: skip


def _inverted(
    to: _Builder, stages: tuple[tuple[int, ...], ...], *, width: float, depth: float, squeeze: bool
) -> list[int]:
    """Add inverted residual blocks: 1x1 expansion, depthwise, (squeeze and excitation,) 1x1 projection.

    Returns the widths of the inputs of the dense layers. `width` and `depth` multiply the channels and repeats of
    `stages`.
    """
    to.conv(_eighths(32 * width), 3, 2)
    for kernel, expansion, channels, repeats, stride in stages:
        for index in range(ceil(repeats * depth)):
            inputs = to.channels
            if expansion > 1:
                to.conv(inputs * expansion, 1)
            to.conv(to.channels, kernel, stride if not index else 1, to.channels)
            if squeeze:
                to.squeeze(max(1, inputs // 4))
            to.conv(_eighths(channels * width), 1)
    to.conv(_eighths(1280 * width) if squeeze else 1280, 1)
    return [to.channels]


def _eighths(channels: float) -> int:
    """Round a number of channels to the nearest multiple of eight, but never down by more than a tenth (1801.04381)."""
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded


_RESNET_SOURCE, _XIE, _ZAGORUYKO = (
    "He et al. 1512.03385 table 1",
    "Xie et al. 1611.05431",
    "Zagoruyko et al. 1605.07146",
)
_SIMONYAN, _SANDLER, _TAN = "Simonyan et al. 1409.1556", "Sandler et al. 1801.04381", "Tan et al. 1905.11946"
_HU = "Hu et al. 1709.01507, on Xie et al. 1611.05431"
_Build = Callable[[_Builder], list[int]]
_NETWORKS: dict[str, tuple[int, _Build, str]] = {
    "resnet18": (224, partial(_resnet, blocks=(2, 2, 2, 2), deep=False), _RESNET_SOURCE),
    "resnet34": (224, partial(_resnet, blocks=(3, 4, 6, 3), deep=False), _RESNET_SOURCE),
    "resnet50": (224, partial(_resnet, blocks=(3, 4, 6, 3), deep=True), _RESNET_SOURCE),
    "resnet101": (224, partial(_resnet, blocks=(3, 4, 23, 3), deep=True), _RESNET_SOURCE),
    "resnet152": (224, partial(_resnet, blocks=(3, 8, 36, 3), deep=True), _RESNET_SOURCE),
    "resnext5032x4d": (224, partial(_resnet, blocks=(3, 4, 6, 3), deep=True, group_width=4), _XIE),
    "resnext10132x8d": (224, partial(_resnet, blocks=(3, 4, 23, 3), deep=True, group_width=8), _XIE),
    "resnext10132x4d": (224, partial(_resnet, blocks=(3, 4, 23, 3), deep=True, group_width=4), _XIE),
    "seresnext10132x4d": (
        224,
        partial(_resnet, blocks=(3, 4, 23, 3), deep=True, group_width=4, squeeze=16),
        _HU,
    ),
    "wideresnet502": (224, partial(_resnet, blocks=(3, 4, 6, 3), deep=True, wide=2), _ZAGORUYKO),
    "vgg16": (224, partial(_vgg, blocks=(2, 2, 3, 3, 3)), _SIMONYAN),
    "vgg19": (224, partial(_vgg, blocks=(2, 2, 4, 4, 4)), _SIMONYAN),
    "mobilenetv2": (224, partial(_inverted, stages=_MOBILE, width=1, depth=1, squeeze=False), _SANDLER),
    "efficientnetb0": (224, partial(_inverted, stages=_EFFICIENT, width=1, depth=1, squeeze=True), _TAN),
    "efficientnetb4": (380, partial(_inverted, stages=_EFFICIENT, width=1.4, depth=1.8, squeeze=True), _TAN),
}
