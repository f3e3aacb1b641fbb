from __future__ import annotations

import pytest

from clusterwright.plan.memory import Definition
from clusterwright.plan.predict.cells import Cells
from clusterwright.plan.predict.infer_memory_notes import definition
from clusterwright.plan.predict.runs import run_of

GPT = {
    "model": "gpt3", "layers": "12", "hidden": "512", "heads": "8", "seq_len": "1024", "gpu_type": "H100-SXM-80GB",
    "num_gpus": "8", "global_batch": "32", "micro_batch": "4", "tp": "2", "pp": "1", "zero_stage": "1",
    "recompute": "none", "precision": "bf16",
}  # fmt: skip
LLAMA = GPT | {
    "model": "Llama3-8B",
    "layers": "32",
    "hidden": "4096",
    "heads": "32",
    "tp": "1",
    "zero_stage": "3",
}


def planned(row, notes="", source="Megatron-LM", **given):
    return run_of(row | {"notes_url": notes, "source": source} | given)[0]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"notes_url": "peak=max mem-max-allocated-bytes (rank reported)"}, Definition.LAST_RANK),
        ({"notes_url": "mem = max over first/last nodes, nvidia-smi style"}, Definition.TOTAL),
        ({"notes_url": "peak = max_memory_reserved worst rank"}, Definition.RESERVED),
        ({"source": "torchtitan"}, Definition.RESERVED),
        ({"notes_url": "peak = max_memory_allocated"}, Definition.ALLOCATED),
        ({"source": "Megatron-LM"}, Definition.ALLOCATED),
        ({}, Definition.RESERVED),
    ],
)
def test_definition(row, expected):
    """What a source reads its memory from decides which prediction is comparable."""
    assert definition(Cells.from_row(row)) is expected


@pytest.mark.parametrize(
    ("notes", "expected"),
    [
        ("transformer-impl=transformer_engine", True),
        ("transformer-impl=transformer_engine;disable-bias-linear=True", True),
        ("transformer-impl=local;disable-bias-linear=True;untie-embeddings-and-output-weights=True", False),
        ("Megatron-LM 0.14", False),
    ],
)
def test_dropout(notes, expected):
    """Megatron's default is 0.1; models without biases and with their own head are trained without."""
    assert planned(GPT, notes).training.dropout is expected


def test_experts_are_cut_by_tp_unless_it_is_said():
    """Megatron-Core's default of expert tensor parallelism is tp."""
    notes = "transformer-impl=transformer_engine;num-experts=8"

    assert planned(GPT, notes, ep="2").layout.etp == 2
    assert planned(GPT, f"{notes};expert-tensor-parallel-size=1", ep="2").layout.etp == 1


def test_grouped_experts():
    """Megatron groups the products of experts where its flag says so; others are taken to."""
    notes = "transformer-impl=transformer_engine;num-experts=8"

    assert not planned(GPT, notes, ep="2").training.grouped_experts
    assert planned(GPT, f"{notes};moe-grouped-gemm=True", ep="2").training.grouped_experts
    assert planned(GPT, "num-experts=8", ep="2").training.grouped_experts


def test_instances_of_the_distributed_optimizer():
    """Two instances: half of the replicas share one copy."""
    notes = "transformer-impl=transformer_engine;num-distributed-optimizer-instances=2"

    assert planned(GPT, notes).layout.shard == 2


def test_recomputed_modules():
    """The flag's own list; by operation in torchtitan."""
    flag = "recompute-granularity=selective;recompute-modules=[layernorm mla_up_proj moe_act]"

    assert planned(GPT, flag, recompute="selective").layout.recompute_modules == (
        "layernorm",
        "mla_up_proj",
        "moe_act",
    )
    assert planned(LLAMA, source="torchtitan", recompute="selective").layout.recompute_modules == ("per-op",)


def test_torchtitan_defaults():
    """Those of its Llama 3 configurations, with a note; shorter rather than more recomputed."""
    row = LLAMA | {"source": "torchtitan", "seq_len": "", "recompute": ""}
    run, notes = run_of(row | {"micro_batch": "1"})

    assert run.training.seq_len == 8192
    assert run.layout.recompute_modules == ("per-op",)
    assert any("torchtitan's default" in note for note in notes)
    crowded, _ = run_of(row | {"micro_batch": "4"})
    assert crowded.training.seq_len < 8192
    assert crowded.layout.recompute_modules == ("per-op",)


@pytest.mark.parametrize(
    ("source", "notes", "expected"),
    [
        ("torchtitan", "", 2),
        ("torchtitan", "eager", 0),
        ("torchtitan 2024-12", "", 0),
        ("KempnerForge", "", 8),
        ("llm-foundry", "", 4),
        ("Megatron-LM", "cross-entropy-loss-fusion=True", 10),
        ("", "", 0),
    ],
)
def test_logits(source, notes, expected):
    """How a loss holds its logits, by whose loss it is."""
    assert planned(LLAMA, notes, source).training.logit_bytes == expected


def test_deferred_weight_gradients_of_the_head():
    """On two stages two microbatches' gradients wait for the bubble, 2 bytes each, beside the 6 at work."""
    assert planned(GPT, "defer-embedding-wgrad-compute=True", pp="2").training.logit_bytes == 10


def test_fused_loss_and_fp8_parameters():
    """Liger never holds the logits; fp8 parameters by flag, and in NVIDIA's fp8 recipes."""
    assert planned(LLAMA, "Liger kernels").training.fused_loss
    assert planned(GPT, "fp8-param-gather=True", precision="fp8").training.fp8_parameters
    assert planned(GPT, "", "NeMo 24.12", precision="fp8").training.fp8_parameters
    assert not planned(GPT, "", "Megatron-LM", precision="fp8").training.fp8_parameters


def test_zero_bubble_had_no_flash_attention():
    """Its Megatron was of early 2023: unfused, with dropout."""
    work = planned(GPT, "ZB-2p", "Zero Bubble, Qi et al. 2401.10241").training

    assert (work.flash_attention, work.dropout) == (False, True)


@pytest.mark.parametrize(
    ("source", "expected"),
    [("torchtitan", False), ("llm-foundry", False), ("Lit-GPT", True), ("Megatron-LM", False)],
)
def test_who_keeps_whole_gradients(source, expected):
    """Trainers on torch's FSDP reduce after the last microbatch, but those known to do it after each."""
    assert planned(LLAMA, source=source).training.unsharded_gradients is expected


def test_whole_gradients_give_way():
    """A model whose whole gradients no GPU holds is trained with reducing each microbatch's."""
    large = {"model": "llama3.1-70b", "layers": "80", "hidden": "8192", "heads": "64", "num_gpus": "64"}
    row = LLAMA | large | {"global_batch": "128", "micro_batch": "1", "recompute": "full"}

    assert not planned(row, source="Lit-GPT").training.unsharded_gradients


def test_low_states_and_steps():
    """bf16 alone where it is said or the trainer does it; temporaries where the optimizer is not fused."""
    assert planned(LLAMA, "pure bf16", "Lit-GPT").training.low_states
    assert planned(LLAMA, source="KempnerForge").training.low_states
    assert not planned(LLAMA, source="Lit-GPT").training.low_states
    assert planned(LLAMA, source="InternEvo").training.step_bytes == 8


@pytest.mark.parametrize(("source", "expected"), [("torchtitan 2024-12", 4), ("torchtitan 2025-06", 1)])
def test_microbatches_of_torchtitans_pipelines(source, expected):
    """As many microbatches as stages once; one sequence each later."""
    row = LLAMA | {"pp": "8", "global_batch": "32", "micro_batch": "", "zero_stage": "1"}

    assert planned(row, source=source).layout.micro_batch == expected


def test_pipelines_of_torch_reduce_at_the_end():
    """Even where the trainer reduces each microbatch otherwise; where it would not fit, not."""
    row = LLAMA | {"pp": "8", "num_gpus": "64", "global_batch": "64", "micro_batch": "1", "zero_stage": "3"}

    assert planned(row, source="torchtitan").training.unsharded_gradients
    assert not planned(
        row | {"micro_batch": "64", "global_batch": "1024"}, source="torchtitan"
    ).training.unsharded_gradients
