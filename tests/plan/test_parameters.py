from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog.records import Architecture
from clusterwright.plan.parameters import count, padded_vocab

DEEPSEEK = {
    "attention": "mla",
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "rope_head_dim": 64,
    "v_head_dim": 128,
    "dense_layers": 3,
    "experts": 256,
    "experts_per_token": 8,
    "expert_ffn": 2048,
    "shared_ffn": 2048,
}
OLD = {"gated": False, "tied": True, "biases": True}

# (model, its published total in units of 10^9)
TOTALS = [
    (Architecture("LLaMA-2-7B", 32, 4096, 32, 32, 128, 11008, 32000), 6.738),
    (Architecture("Llama-3-8B", 32, 4096, 32, 8, 128, 14336, 128256), 8.030),
    (Architecture("Llama-3-70B", 80, 8192, 64, 8, 128, 28672, 128256), 70.55),
    (Architecture("Llama-3-405B", 126, 16384, 128, 8, 128, 53248, 128256), 405.9),
    (Architecture("Qwen2.5-72B", 80, 8192, 64, 8, 128, 29568, 152064), 72.7),
    (Architecture("GPT-2", 12, 768, 12, 12, 64, 3072, 50257, learned_positions=1024, **OLD), 0.1244),
    (Architecture("GPT-3", 96, 12288, 96, 96, 128, 49152, 50257, learned_positions=2048, **OLD), 174.6),
    (Architecture("BERT-large", 24, 1024, 16, 16, 64, 4096, 30522, learned_positions=512, **OLD), 0.335),
    (Architecture("DeepSeek-V3", 61, 7168, 128, 128, 128, 18432, 129280, **DEEPSEEK), 671.0),
]
MIXTRAL = {"experts": 8, "experts_per_token": 2, "expert_ffn": 14336}
OSS = {"experts": 128, "experts_per_token": 4, "expert_ffn": 2880, "biases": True}
# (model, published total, published active, both in 10^9)
OF_EXPERTS = [
    (Architecture("Mixtral-8x7B", 32, 4096, 32, 8, 128, 14336, 32000, **MIXTRAL), 46.7, 12.9),
    (Architecture("DeepSeek-V3", 61, 7168, 128, 128, 128, 18432, 129280, **DEEPSEEK), 671.0, 37.0),
    (Architecture("GPT-OSS-120B", 36, 2880, 64, 8, 64, 2880, 201088, **OSS), 116.8, 5.13),
]


@pytest.mark.parametrize(("model", "billions"), TOTALS, ids=lambda value: getattr(value, "name", ""))
def test_count_published_totals(model, billions):
    """The count is the published total within half a percent."""
    assert count(model).total == pytest.approx(billions * 1e9, rel=0.005)


@pytest.mark.parametrize(
    ("model", "total", "active"), OF_EXPERTS, ids=lambda value: getattr(value, "name", "")
)
def test_count_experts(model, total, active):
    """Of a mixture of experts the total is met, and the active ones as published, embedding counted or not."""
    params = count(model)

    assert params.total == pytest.approx(total * 1e9, rel=0.002)
    assert params.active - params.embedding <= active * 1e9 * 1.005 <= params.active * 1.02


def test_count_dense_is_all_active():
    """Without experts every parameter is active."""
    params = count(TOTALS[0][0])

    assert params.active == params.total


def test_count_mtp():
    """DeepSeek-V3 with its one extra layer: the 14 billion of its files, less the shared embedding and head."""
    with_mtp = Architecture("V3", 61, 7168, 128, 128, 128, 18432, 129280, mtp_layers=1, **DEEPSEEK)
    without = Architecture("V3", 61, 7168, 128, 128, 128, 18432, 129280, **DEEPSEEK)

    added = count(with_mtp).total - count(without).total

    assert added == pytest.approx(14e9 - 2 * 129280 * 7168, rel=0.06)
    assert count(with_mtp).active == count(without).active


def test_count_hybrid():
    """Nemotron-H-8B: 52 layers, each a state-space mixer, an attention or a feed-forward part alone."""
    shape = {"gated": False, "mamba_layers": 24, "attention_layers": 4}
    model = Architecture("Nemotron-H-8B", 52, 4096, 32, 8, 128, 21504, 131072, **shape)

    assert count(model).total == pytest.approx(8.1e9, rel=0.02)


@given(st.integers(1, 300_000), st.sampled_from([1, 2, 4, 8]))
def test_padded_vocab(vocab, tp):
    """The padded vocabulary is the next multiple of 128 x tp."""
    padded = padded_vocab(vocab, tp)

    assert padded % (128 * tp) == 0
    assert 0 <= padded - vocab < 128 * tp
