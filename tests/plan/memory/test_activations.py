from __future__ import annotations

import pytest

from clusterwright.plan.memory.activations import (
    activation_bytes,
    attention,
    dense,
    experts,
    per_op,
    saved_input,
    tokens,
)
from clusterwright.plan.memory.stage import stage_at
from clusterwright.plan.parameters import count
from clusterwright.plan.run import Recompute


def layers_of(run):
    return stage_at(count(run.training.architecture), run.layout, 0)


def test_dense_gelu_layer_is_34_bytes(plan_of):
    """34 bytes per token and hidden element, as Korthikanti et al. count a layer with dropout, less the core."""
    run = plan_of("gpt", dropout=True)

    total = attention(run, ("core_attn",)) + dense(run, ())

    assert total.on(run.layout) == 34 * run.training.architecture.hidden


def test_unfused_scores_are_5_bytes(plan_of):
    """5 a s per token more where the scores, their mask and the dropped-out scores are kept."""
    run = plan_of("gpt", dropout=True, flash_attention=False)

    core = attention(run, ()).on(run.layout) - attention(run, ("core_attn",)).on(run.layout)

    assert core == 5 * 8 * 4096


def test_gated_layer(plan_of):
    """Gate and up, and their product: six bytes per element of the inner width."""
    run = plan_of("llama")

    assert dense(run, ()).sharded == 6 * 14336


@pytest.mark.parametrize(("sequence_parallel", "expected"), [(1, 34 / 8), (0, 10 + 24 / 8)])
def test_tensor_parallel(plan_of, sequence_parallel, expected):
    """Korthikanti's 34/t with sequence parallelism, 10 + 24/t without."""
    run = plan_of("gpt", dropout=True, tp=8, sequence_parallel=sequence_parallel)

    total = attention(run, ("core_attn",)) + dense(run, ())

    assert total.on(run.layout) == pytest.approx(expected * 512)


def test_full_recomputation_keeps_the_input(plan_of):
    """Two bytes per token and hidden element of each layer."""
    run = plan_of("llama", recompute=Recompute.FULL)

    assert activation_bytes(run, layers_of(run)) == 2 * 4096 * 4096 * 32


@pytest.mark.parametrize("model", ["llama", "gpt", "moe", "mla"])
@pytest.mark.parametrize("flash", [True, False])
def test_recomputation_keeps_less(plan_of, model, flash):
    """Full keeps no more than selective, selective no more than none."""
    none, selective, full = (
        activation_bytes(run, layers_of(run))
        for run in (plan_of(model, recompute=kind, flash_attention=flash) for kind in Recompute)
    )

    assert full < selective <= none


@pytest.mark.parametrize("module", ["core_attn", "moe_act", "layernorm", "mla_up_proj", "mlp", "moe"])
def test_each_module_saves(plan_of, module):
    """Every module that Megatron-Core can recompute keeps less when it is."""
    every = plan_of("mla", recompute=Recompute.NONE)
    some = plan_of("mla", recompute=Recompute.SELECTIVE, recompute_modules=(module,))

    assert activation_bytes(some, layers_of(some)) < activation_bytes(every, layers_of(every))


def test_experts_take_their_tokens(plan_of):
    """Top-2: two copies of a token's row, two of its inner rows; with expert tp the rows are gathered again."""
    run, cut = plan_of("moe"), plan_of("moe", tp=2, etp=2)

    assert experts(run, ()).expert == 2 * (6 * 2048 + 2 * 4096)
    assert experts(cut, ()).expert == 2 / 2 * (6 * 2048 + 2 * 2 * 4096)


def test_per_op(plan_of):
    """Llama-3-8B in torchtitan: 64 KB of a token in a layer; its page's 33.7 GB on 8 B200 comes to that."""
    run = plan_of("llama", "fsdp")

    assert per_op(run).on(run.layout) == pytest.approx(64_000, rel=0.02)


def test_precisions(plan_of):
    """A product in fp8 keeps one byte of its input, in blocks of 32 a scale more; bf16 two."""
    low = [
        saved_input(plan_of(precision=name).training) for name in ("bf16", "fp8", "mxfp8", "nvfp4", "fp32")
    ]

    assert low == [2, 1, 1 + 1 / 32, 0.5 + 1 / 16, 4]


def test_context_parallel_cuts_tokens(plan_of):
    """Each of cp GPUs holds its share of the sequence."""
    assert tokens(plan_of(cp=4, micro_batch=2)) == 4096 * 2 / 4
