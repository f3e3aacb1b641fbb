"""What a network asks of a GPU is counted from its layers."""

from __future__ import annotations

import pytest

from clusterwright.catalog.cnn import network
from clusterwright.catalog.models import architecture
from clusterwright.plan.cnn.products import PASSES, Encoder, demand


@pytest.mark.parametrize("name", ["resnet50", "vgg16", "efficientnet-b0", "resnext101-32x4d"])
def test_products_are_all_of_a_networks_flops(name):
    """Nothing is lost on the way, and the picture's gradient is the only one left out."""
    asked = demand(network(name))

    assert sum(each.flops * each.times for each in asked.products) == pytest.approx(network(name).flops)
    assert sum(PASSES - each.passes for each in asked.products) == 1
    assert asked.parameters == network(name).parameters


def test_bert_large_is_counted_directly():
    """24 layers of twelve squares of 1024 on 384 tokens, and two products of the scores."""
    asked = demand(Encoder(architecture("bert-large"), 384))
    squares, scores = 24 * 12 * 1024**2 * 384, 24 * 2 * 384**2 * 1024

    assert asked.flops == pytest.approx(2 * (squares + scores))
    assert 330e6 < asked.parameters < 345e6


def test_only_networks_with_squeeze_pay_for_it():
    """EfficientNet weighs its channels, MobileNetV2 does not."""
    assert demand(network("efficientnet-b0")).squeezed > 0
    assert demand(network("mobilenet-v2")).squeezed == 0


def test_scores_grow_with_the_square_of_the_length():
    """Four times the tokens: four times the matrices, sixteen times the scores."""
    short, long = (demand(Encoder(architecture("bert-large"), tokens)) for tokens in (128, 512))

    assert 4 < long.flops / short.flops < 5
    assert long.elementwise > 4 * short.elementwise
