"""Time of core attention: fused (flash attention), or unfused products, mask, softmax and dropout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.plan import flops

if TYPE_CHECKING:
    from clusterwright.catalog.records import Architecture
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Training
    from clusterwright.plan.speed.coefficients import Rates

BACKWARD_FLOPS = 2.5  # of fused attention over its forward: five products instead of two (Dao 2307.08691)
# A head of half the width takes 1.3 times as long per FLOP (same source).
NARROW = 0.3
FULL_WIDTH = 128  # head width at which the fused kernels are fastest (same source, figures 4 to 6)
# Bytes per score that the unfused path moves: written by the product, read and written by scale, mask and
# softmax, by dropout with its mask of a byte, read again by the product with the values; 16-bit elements.
FORWARD_TRAFFIC, DROPOUT_TRAFFIC, BACKWARD_TRAFFIC, DROPOUT_BACKWARD = 8, 5, 12, 5


def forward(training: Training, tokens: Real, heads: Real, *, rates: Rates) -> tuple[Real, Real]:
    """Return forward seconds of core attention as (products, memory traffic) for `tokens` queries per head.

    With flash attention the traffic is 0, as the products include it.
    """
    model, seq_len = training.architecture, training.seq_len
    if training.flash_attention:
        return fused(model, tokens, heads, seq_len=seq_len, rate=rates.flash) + 3 * rates.launch, 0.0
    scores = tokens * heads * seq_len
    traffic = FORWARD_TRAFFIC + (DROPOUT_TRAFFIC if training.dropout else 0)
    return batched(model, scores, rates=rates), scores * traffic / rates.bytes_per_s


def backward(training: Training, tokens: Real, heads: Real, *, rates: Rates) -> tuple[Real, Real]:
    """Return backward seconds of core attention as (products, memory traffic) for `tokens` queries per head.

    With flash attention the traffic is 0, as the products include it.
    """
    model, seq_len = training.architecture, training.seq_len
    if training.flash_attention:
        forward_s = fused(model, tokens, heads, seq_len=seq_len, rate=rates.flash_backward)
        return BACKWARD_FLOPS * forward_s + 3 * rates.launch, 0.0
    scores = tokens * heads * seq_len
    traffic = BACKWARD_TRAFFIC + (DROPOUT_BACKWARD if training.dropout else 0)
    return 2 * batched(model, scores, rates=rates), scores * traffic / rates.bytes_per_s


def fused(model: Architecture, tokens: Real, heads: Real, *, seq_len: float, rate: float) -> Real:
    """Return the seconds of the fused forward kernel at `rate` FLOP/s.

    Narrow heads are slower, as softmax has a larger share.
    """
    width = sum(flops.core_widths(model)) / model.heads
    narrow = 1 + max(0.0, FULL_WIDTH / (width / 2) - 1) * NARROW
    return tokens * heads * 2 * width * flops.mean_attended(model, seq_len) * narrow / rate


def batched(model: Architecture, scores: Real, *, rates: Rates) -> Real:
    """Return the seconds of unfused core attention: batched products over the full square of scores, masked or not."""
    aligned = 1.0 if model.head_dim % 8 == 0 else rates.misaligned
    return (
        2
        * scores
        * sum(flops.core_widths(model))
        / model.heads
        * aligned
        / rates.matmul_16
        * (1 + rates.depth / model.head_dim)
    )
