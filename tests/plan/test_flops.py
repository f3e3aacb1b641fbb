"""FLOPs equal a direct count over every matrix, for dense, grouped, latent, expert and hybrid models."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clusterwright.catalog.models import architecture
from clusterwright.plan import flops, parameters

NAMES = ("gpt3-175b", "llama3-70b", "mixtral-8x7b", "deepseek-v3", "qwen3-30b-a3b", "nemotron-h-8b")


def counted(matrices: list[tuple[float, float]]) -> float:
    """Two FLOPs for every element of every matrix, per token."""
    return 2 * sum(rows * columns for rows, columns in matrices)


def test_a_gpt_layer_is_its_four_matrices_and_half_a_square() -> None:
    """GPT-3 175B: 24 h^2 of matrices and 2 s h of causal attention, per token."""
    model = architecture("gpt3-175b")
    hidden = model.hidden

    layer = flops.attention_matrices(model) + flops.ffn(model, model.ffn)

    assert layer == 24 * hidden**2
    assert flops.attention_core(model, 2048) == 2 * 2048 * hidden


def test_grouped_queries_cost_only_their_key_value_heads() -> None:
    """LLaMA-3 70B, matrix by matrix."""
    model = architecture("llama3-70b")
    matrices = [(8192, 8192), (8192, 1024), (8192, 1024), (8192, 8192)]

    assert flops.attention_matrices(model) == counted(matrices)
    assert flops.ffn(model, model.ffn) == counted([(8192, 28672)] * 3)


def test_latent_attention_is_counted_through_its_ranks() -> None:
    """DeepSeek-V3: down to 1536 and 512 + 64, up to 128 heads, and out."""
    model = architecture("deepseek-v3")
    matrices = [(7168, 1536), (1536, 128 * 192), (7168, 576), (512, 128 * 256), (128 * 128, 7168)]

    assert flops.attention_matrices(model) == counted(matrices)
    assert flops.core_widths(model) == (128 * 192, 128 * 128)


def test_only_visited_experts_are_counted() -> None:
    """Mixtral: two of eight, and the router."""
    model = architecture("mixtral-8x7b")

    assert flops.moe(model) == counted([(4096, 14336)] * 6 + [(4096, 8)])


@pytest.mark.parametrize("name", NAMES)
def test_matrices_cost_two_flops_per_active_parameter(name: str) -> None:
    """Without attention's core and scans, forward is about 2 x active parameters: all but norms, biases and lookup."""
    model = replace(architecture(name), mtp_layers=0)
    parts = flops.mix(model)
    core = parts.attention * flops.attention_core(model, 1024)
    scans = (
        parts.mamba * 6 * parameters.mamba_shape(model)[0] * parameters.mamba_shape(model)[2]
        if parts.mamba
        else 0
    )
    count = parameters.count(model)

    active = count.active - count.embedding + (model.vocab * model.hidden if model.tied else 0)

    assert flops.forward(model, 1024) - core - scans == pytest.approx(2 * active, rel=0.005)


def test_a_window_leaves_tokens_out() -> None:
    """Beyond the window a query sees the window; before it has begun, the causal half; layers without it see all."""
    model = replace(architecture("llama3-8b"), window=1024)

    assert flops.attended(model, 8192, window=1024) == 1024 - 1024 / 16
    assert flops.mean_attended(model, 512) == 256
    assert flops.mean_attended(replace(model, window_every=2), 8192) == (4096 + 960) / 2


def test_what_is_not_causal_sees_the_whole_sequence() -> None:
    """BERT attends in both directions."""
    assert flops.attended(architecture("bert-large"), 512) == 512


def test_training_is_three_times_forward() -> None:
    """One product forward, two backward."""
    model = architecture("llama2-7b")

    assert flops.training(model, 4096) == 3 * flops.forward(model, 4096)
