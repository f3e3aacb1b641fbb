from __future__ import annotations

from dataclasses import replace

import pytest

from clusterwright.plan.memory.stage import StageParameters
from clusterwright.plan.memory.states import engine, expert_shards, shards, states
from clusterwright.plan.parameters import lora
from clusterwright.plan.run import Offload, Stack

OWN = StageParameters(dense=1e9, expert=0.0, matrices=0.9e9)


def total(run, own=OWN):
    found = states(run, own)
    return found.weights + found.gradients + found.optimizer


@pytest.mark.parametrize(("zero", "expected"), [(0, 18), (1, 6 + 12 / 8), (2, 2 + 16 / 8), (3, 18 / 8)])
def test_zero_stages(plan_of, zero, expected):
    """bf16 with fp32 gradients and Adam: 18 bytes of a parameter, of which ZeRO cuts 12, 16, 18."""
    assert total(plan_of(zero=zero, dp=8)) == pytest.approx(expected * 1e9)


def test_fsdp_keeps_one_fp32_copy(plan_of):
    """FSDP of torch shards the fp32 weights themselves: 16 bytes over all."""
    assert total(plan_of("llama", "fsdp", zero=3, dp=8)) == pytest.approx(2e9)


def test_context_parallel_ranks_share_too(plan_of):
    """The distributed optimizer spreads over dp x cp."""
    assert shards(plan_of(dp=4, cp=2).layout) == 8


def test_hybrid_sharding(plan_of):
    """A shard group smaller than all replicas."""
    assert shards(plan_of(dp=64, shard=8).layout) == 8


def test_experts_share_less(plan_of):
    """Of 8 x 2 GPUs, ep 8 x etp 1 hold different experts: two share one; never less than one."""
    assert expert_shards(plan_of(dp=8, tp=2, ep=8, etp=1).layout) == 2
    assert expert_shards(plan_of(dp=8, tp=2, ep=16, etp=2).layout) == 1


@pytest.mark.parametrize(
    ("optimizer", "expected"), [("adam", 12), ("adam8bit", 6), ("sgd", 8), ("muon", 8.4)]
)
def test_optimizers(plan_of, optimizer, expected):
    """The fp32 copy and the moments, bytes of a parameter; Muon keeps Adam's where it is no matrix (a tenth here)."""
    assert states(plan_of(zero=0, optimizer=optimizer), OWN).optimizer == expected * 1e9


def test_fp32_needs_no_copy(plan_of):
    """fp32: 4 + 4 + 8 bytes."""
    assert total(plan_of(zero=0, precision="fp32")) == 16e9


def test_fp8_copies_and_fp8_parameters(plan_of):
    """Copies in rows and columns beside the bf16 weights, or in place of them."""
    beside = states(plan_of(zero=0, precision="fp8"), OWN).weights
    instead = states(plan_of(zero=0, precision="fp8", fp8_parameters=True), OWN).weights

    assert beside == pytest.approx(2e9 + 2 * 0.9e9)
    assert instead == pytest.approx(0.1 * 2e9 + 2 * 0.9e9)


def test_lora_trains_adapters_only(plan_of):
    """Frozen weights have neither gradients nor optimizer states."""
    found = states(plan_of(zero=0, task="lora"), OWN)

    assert found.weights == 2e9
    assert found.gradients + found.optimizer == pytest.approx(71e6 / 8.03e9 * 16e9, rel=0.01)
    assert lora(plan_of().training.architecture) == pytest.approx(71e6 / 8.03e9, rel=0.01)


def test_offload(plan_of):
    """Optimizer states leave first, weights with them only where all is offloaded."""
    some = states(plan_of(offload=Offload.OPTIMIZER), OWN)
    every = states(plan_of(offload=Offload.ALL), OWN)

    assert (some.optimizer, every.optimizer, every.weights) == (0, 0, 0)
    assert some.weights == 2e9


def test_engine_is_deepspeeds_alone(plan_of):
    """Two reduce buckets of 5e8 elements and the step's copies; Megatron's optimizer needs none."""
    assert engine(plan_of(), OWN) == 0
    assert engine(plan_of("llama", "deepspeed", gradient_bytes=2, dp=8), OWN) == 2 * 2 * 5e8 + 6e9 / 8
    assert engine(plan_of("llama", "megatron-deepspeed", gradient_bytes=4, dp=8), OWN) == 2 * 4 * 5e8 + 2e9


@pytest.mark.parametrize(("year", "bytes_each"), [(2025, 4), (2023, 2)])
def test_whole_gradients(plan_of, year, bytes_each):
    """Not reduced until the last microbatch: whole, in fp32 by FSDP2, in the layers' precision by FSDP1."""
    run = plan_of("llama", "fsdp", zero=3, dp=8, global_batch=16, unsharded_gradients=True)
    at = replace(run, stack=Stack("fsdp", year))

    assert states(at, OWN).gradients == bytes_each * 1e9
    assert states(replace(at, training=replace(at.training, global_batch=8)), OWN).gradients == 4e9 / 8
    assert states(plan_of(zero=3, dp=8, unsharded_gradients=True), OWN).gradients == 4e9 / 8


def test_pipelines_of_torch_keep_parameters_and_gradients_whole(plan_of):
    """FSDP under PyTorch's pipeline: bf16 weights gathered, fp32 gradients whole, no copies in fp8."""
    cut = {"zero": 2, "dp": 8, "pp": 4, "precision": "fp8"}
    found = states(plan_of("llama", "fsdp", unsharded_gradients=True, **cut), OWN)

    assert states(plan_of("llama", "fsdp", **cut), OWN).gradients == 4e9 / 8

    assert (found.weights, found.gradients, found.optimizer) == (2e9, 4e9, 12e9 / 8)
    assert total(plan_of("llama", "fsdp", zero=3, dp=8, pp=4)) == total(
        plan_of("llama", "fsdp", zero=2, dp=8, pp=4)
    )


def test_low_states(plan_of):
    """All in bf16: 2 + 2 + 4 bytes; in a pipeline of torch the shard beside what is gathered."""
    assert total(plan_of("llama", "fsdp", zero=0, low_states=True)) == 8e9
    assert states(plan_of("llama", "fsdp", zero=2, dp=8, pp=4, low_states=True), OWN).weights == 2e9 + 2e9 / 8
