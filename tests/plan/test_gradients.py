"""Which way of adding up gradients is advised."""

import pytest

from clusterwright.plan.gradients import ENOUGH, METHODS, Training, advised, judged

OF_25_M = 100e6


@pytest.mark.parametrize(
    ("slower", "setting"),
    [
        (0.01, "default"),
        (0.4, "gradients: {bucket: 4MiB}"),
        (0.8, "gradients: {compress: bf16, bucket: 4MiB}"),
        (1.0, "gradients: {compress: int8, bucket: 4MiB}"),
        (4.0, "outer: {every: 50, bits: 8, warm_up: 200}"),
        (200.0, "outer: {every: 50, bits: 8, warm_up: 200}"),
    ],
)
def test_the_slower_the_network_the_more_is_given_up_for_it(slower, setting):
    """`slower`: what gradients take on the line, over what a step computes; 1 is the network of the bench."""
    best = advised(Training(OF_25_M, 1.0, 4, OF_25_M / slower))

    assert best.method.setting == setting
    assert best.efficiency >= ENOUGH or best == max(
        judged(Training(OF_25_M, 1.0, 4, OF_25_M / slower)), key=lambda each: each.efficiency
    )


def test_a_ring_sends_what_it_sends():
    """Of 100 MB over four hosts, 150 MB on each link."""
    assert Training(OF_25_M, 1.0, 4, 50e6).transfer_s() == pytest.approx(3.0)
    assert Training(OF_25_M, 1.0, 2, 50e6).transfer_s() == pytest.approx(2.0)


def test_what_is_hidden_is_not_counted():
    """A fast network shows one bucket; a slow one what is longer than the backward pass."""
    plain = judged(Training(OF_25_M, 3.0, 4, 50e6))[0]

    assert plain.step_s == pytest.approx(3.0 + 3.0 - 2.0)
    assert plain.efficiency == pytest.approx(0.75)


def test_every_way_says_what_it_costs():
    """And stands as the job file has it."""
    assert all(way.cost and way.setting for way in METHODS)
    assert [way.share for way in METHODS] == sorted((way.share for way in METHODS), reverse=True)
