"""Inference bounds."""

from dataclasses import replace

import pytest

from clusterwright.catalog import architecture, gpu
from clusterwright.plan.sizing.choices import cache_bytes, serving, used_weights


def test_a_7b_model_on_an_l4():
    """13.5 GB of bf16 weights at 300 GB/s: 22 tokens a second for one sequence, at most."""
    made = serving(architecture("llama2-7b"), gpu("l4"), 2048)

    assert made.gpus == 1
    assert made.weights_bytes == pytest.approx(13.5e9, rel=0.01)
    assert made.tokens_per_s_single == pytest.approx(300e9 / (13.5e9 + 1.07e9), rel=0.02)


def test_what_does_not_fit_is_said():
    """70 B parameters in bf16 need ten T4 and more."""
    assert serving(architecture("llama2-70b"), gpu("t4"), 2048, node=8).gpus == 0
    assert serving(architecture("llama2-70b"), gpu("l40s"), 2048, node=8).gpus == 4


def test_more_bandwidth_is_more_tokens():
    """Memory-bound."""
    card, model = gpu("l40s"), architecture("llama2-7b")
    faster = replace(card, memory_bytes_per_s=2 * card.memory_bytes_per_s)

    assert serving(model, faster, 2048).tokens_per_s_single == pytest.approx(
        2 * serving(model, card, 2048).tokens_per_s_single
    )


def test_grouped_queries_shrink_the_cache():
    """Llama-2 70B keeps 8 of 64 heads: 2 x 80 x 2 x 8 x 128 bytes a token."""
    assert cache_bytes(architecture("llama2-70b"), 1) == 2 * 80 * 2 * 8 * 128


def test_a_token_passes_through_few_experts():
    """Mixtral 8x7B: 47 B parameters, 13 B of them used."""
    assert used_weights(architecture("mixtral-8x7b")) == pytest.approx(12.9e9, rel=0.02)
