"""A run to vary: GPT-3 175B on A100s, and a shorter one on a node."""

from __future__ import annotations

import pytest

from clusterwright.catalog.gpus import gpu
from clusterwright.catalog.models import architecture
from clusterwright.plan.run import Layout, Machine, Network, Recompute, Run, Stack, Training


@pytest.fixture
def run() -> Run:
    """175B, 64 A100, tp 8, pp 8 (Korthikanti et al. 2205.05198, table 5)."""
    training = Training(
        architecture("gpt3-175b"),
        2048,
        64,
        precision="fp16",
        flash_attention=False,
        dropout=True,
        gradient_bytes=2,
    )
    layout = Layout(tp=8, pp=8, interleave=3, zero=0, recompute=Recompute.SELECTIVE)
    machine = Machine(gpu("a100-sxm-80gb"), 64, network=Network("infiniband", 8, 25e9))
    return Run(training, layout, machine, Stack("megatron", 2022))


@pytest.fixture
def llama() -> Run:
    """LLaMA-3 70B, 64 H100, tp 4, pp 4, interleaved."""
    training = Training(architecture("llama3-70b"), 8192, 128, gradient_bytes=2)
    layout = Layout(dp=4, tp=4, pp=4, interleave=5)
    return Run(training, layout, Machine(gpu("h100-sxm-80gb"), 64), Stack("megatron", 2024))
