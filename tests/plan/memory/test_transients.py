from __future__ import annotations

import pytest

from clusterwright.plan.memory.stage import StageParameters
from clusterwright.plan.memory.transients import backward, gathered, joined, loss, stepping
from clusterwright.plan.run import Recompute


def test_loss_holds_logits_twice(plan_of):
    """Megatron's vocabulary-parallel loss: bf16 and fp32, over tp, and the head's input and its norm's."""
    run = plan_of("llama", tp=2)

    assert loss(run) == 4096 * (6 * 128256 / 2 + 4 * 4096 / 2)


@pytest.mark.parametrize(
    ("given", "each"),
    [
        ({"logit_bytes": 2.0}, 2),
        ({"family": "maxtext"}, 10),
        ({"family": "fsdp"}, 12),
        ({"family": "fsdp", "low_states": True}, 8),
    ],
)
def test_loss_of_others(plan_of, given, each):
    """A compiled loss holds the logits once; torch's own three things in fp32, or four in bf16."""
    assert loss(plan_of("llama", **given)) == 4096 * (each * 128256 + 4 * 4096)


def test_loss_over_tp_in_torch(plan_of):
    """DTensor's loss holds one thing more, and the head's whole input."""
    assert loss(plan_of("llama", "fsdp", tp=4)) == 4096 * (16 * 128256 / 4 + 4 * 4096)


def test_joined_sequences(plan_of):
    """DTensor keeps the sequences it joined over tp as inputs; Megatron joins them again."""
    cut = {"tp": 4, "recompute": Recompute.FULL}

    assert joined(plan_of("llama", "fsdp", **cut)) == 3 * 2 * 4096 * 3 / 4
    assert joined(plan_of("llama", "megatron", **cut)) == 0
    assert joined(plan_of("llama", "fsdp", recompute=Recompute.FULL)) == 0


def test_stepping(plan_of):
    """An optimizer that is not fused holds temporaries of its share of the parameters."""
    own = StageParameters(dense=1e9, expert=2e9, matrices=0.9e9)

    assert stepping(plan_of(zero=1, dp=8, ep=2), own) == 0
    assert stepping(plan_of(zero=1, dp=8, ep=2, step_bytes=8.0), own) == 8 * (1e9 / 8 + 2e9 / 4)
    assert stepping(plan_of(zero=0, dp=8, ep=2, step_bytes=8.0), own) == 8 * 3e9


def test_fused_loss_holds_none(plan_of):
    """In chunks, no logits are held."""
    assert loss(plan_of(fused_loss=True)) == 0


def test_multi_token_prediction_keeps_its_own_logits(plan_of):
    """The extra layer's logits wait in fp32 for the backward pass."""
    run = plan_of("mla")

    assert loss(run) == 4096 * ((6 + 4) * 128256 + 4 * 4096)


def test_full_recomputation_holds_a_layer(plan_of):
    """While a layer is computed again all of it is there."""
    full, none = plan_of(recompute=Recompute.FULL), plan_of(recompute=Recompute.NONE)

    assert backward(full) > 4096 * 6 * 14336 > backward(none)


def test_gathered_is_zero3s(plan_of):
    """The embedding is the largest unit of an 8B model: it and its gradient, and the next layer."""
    layer = 2 * 4096 * (4096 + 1024) + 3 * 4096 * 14336

    assert gathered(plan_of(zero=2)) == 0
    assert gathered(plan_of("llama", "fsdp", zero=2, pp=2)) == 2 * layer
    assert gathered(plan_of("llama", "fsdp", zero=3)) == 2 * (2 * 128256 * 4096 + layer)
