"""Convolutional networks count to what is published of them."""

import pytest

from clusterwright.catalog import cnn
from clusterwright.errors import WrightError

# Parameters and multiply-adds (10^9) as torchvision prints them for its weights: docs, "Table of all available
# classification weights".
PUBLISHED = {
    "resnet18": (11_689_512, 1.81), "resnet34": (21_797_672, 3.66), "resnet50": (25_557_032, 4.09),
    "resnet101": (44_549_160, 7.80), "resnet152": (60_192_808, 11.51), "resnext5032x4d": (25_028_904, 4.23),
    "resnext10132x8d": (88_791_336, 16.41), "wideresnet502": (68_883_240, 11.40), "vgg16": (138_357_544, 15.47),
    "vgg19": (143_667_240, 19.63), "mobilenetv2": (3_504_872, 0.30), "efficientnetb0": (5_288_548, 0.39),
    "efficientnetb4": (19_341_616, 4.39),
    "resnext10132x4d": (44_177_704, 8.01), "seresnext10132x4d": (48_955_416, 8.02),  # as timm's tables: 44.18M, 48.96M
}  # fmt: skip


@pytest.mark.parametrize("name", cnn.networks())
def test_counts_are_the_published_ones(name):
    """Every parameter is there, and the work of one image is within a hundredth."""
    weights, giga = PUBLISHED[name]
    net = cnn.network(name)

    assert net.parameters == weights
    assert net.flops / 2e9 == pytest.approx(giga, rel=0.012, abs=0.006)
    assert net.source


@pytest.mark.parametrize(
    "text",
    ["resnet50", "ResNet-50", "ResNet-50 v1.5 (ImageNet)", "ResNet-50 v1.5 (ImageNet, Lambda)", "RN50"],
)
def test_a_name_is_read_in_any_spelling(text):
    """The tables write one network in many ways."""
    assert cnn.network(text).name == "resnet50"


def test_work_grows_with_the_picture_and_weights_do_not():
    """Twice the side is four times the work, but for the last matrix."""
    small, large = cnn.network("resnet50", 224), cnn.network("resnet50", 448)

    assert small.parameters == large.parameters
    assert large.flops / small.flops == pytest.approx(4, rel=0.01)


def test_an_unknown_network_is_an_error_that_lists_the_known():
    """BERT is none."""
    with pytest.raises(WrightError) as caught:
        cnn.network("bert-large")

    assert caught.value.findings[0].code == "unknown-network"
    assert "resnet50" in caught.value.findings[0].fix
