from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from clusterwright.catalog.records import Architecture, Gpu
from clusterwright.plan.run import Layout, Machine, Run, Stack, Training

GPU = Gpu("h100-sxm-80gb", {"bf16": 989e12}, 80e9, 3.35e12, arch="Hopper", usable_bytes=79.2 * 2**30)
LLAMA = Architecture("llama3-8b", 32, 4096, 32, 8, 128, 14336, 128256)
OLD = {"gated": False, "tied": True, "biases": True, "learned_positions": 1024}
EXPERTS = {"experts": 16, "experts_per_token": 2, "expert_ffn": 2048, "shared_ffn": 2048, "dense_layers": 1}
LATENT = {
    "attention": "mla",
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "rope_head_dim": 64,
    "v_head_dim": 128,
}
MODELS = {
    "llama": LLAMA,
    "gpt": Architecture("gpt", 12, 512, 8, 8, 64, 2048, 50257, **OLD),
    "moe": replace(LLAMA, **EXPERTS),
    "mla": replace(LLAMA, **EXPERTS, **LATENT, mtp_layers=1),
}
WORK = set(Training.__dataclass_fields__)


def make(model: str = "llama", family: str = "megatron", **given: Any) -> Run:
    work = {"seq_len": 4096, "global_batch": 512} | {key: given[key] for key in given if key in WORK}
    cut = {"dp": 8} | {key: value for key, value in given.items() if key not in WORK}
    return Run(Training(MODELS[model], **work), Layout(**cut), Machine(GPU, 8), Stack(family, 2025))


@pytest.fixture(scope="session")
def plan_of():
    """`plan_of(model, family, **fields)`: a run, its keywords fields of the training or of the layout."""
    return make
