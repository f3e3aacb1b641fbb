"""How a row cuts its model."""

import pytest

from clusterwright.plan.predict.runs import run_of
from clusterwright.plan.run import Offload, Recompute, Schedule

ROW = {"model": "llama3-8b", "gpu_type": "H100", "num_gpus": "64", "seq_len": "8192", "global_batch": "256"}


def layout(**row):
    """The layout of LLaMA-3 8B on 64 H100."""
    return run_of(ROW | row)[0].layout


@pytest.mark.parametrize(
    ("row", "zero", "shard"),
    [
        ({"dp_or_fsdp": "FSDP"}, 3, 0),
        ({"dp_or_fsdp": "FSDP:64"}, 3, 0),
        ({"dp_or_fsdp": "FSDP:16"}, 3, 16),
        ({"dp_or_fsdp": "FSDP:32", "cp": "2"}, 3, 0),
        ({"dp_or_fsdp": "HSDP"}, 3, 8),
        ({"dp_or_fsdp": "DP(dist-opt)"}, 1, 0),
        ({"zero_stage": "1", "notes_url": "optimizer states spread over 8 GPUs of a node"}, 1, 8),
        ({"zero_stage": "2"}, 2, 0),
        ({"source": "Megatron 2020", "tp": "1", "pp": "1"}, 0, 0),
        ({"source": "Megatron-Bridge 25.09", "tp": "1", "pp": "1"}, 1, 0),
        ({"dp_or_fsdp": "FSDP:16", "pp": "4", "tp": "1"}, 2, 0),
    ],
)
def test_how_replicas_share(row, zero, shard):
    """ZeRO stage and the GPUs that hold one copy."""
    found = layout(**row)

    assert (found.zero, found.shard) == (zero, shard)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("", Schedule.ONE_F_ONE_B),
        ("schedule 1F1B-I", Schedule.ONE_F_ONE_B),
        ("ZB-1p", Schedule.ZB_H1),
        ("zb-h2", Schedule.ZB_H2),
        ("ZBV", Schedule.ZB_V),
        ("DualPipe", Schedule.DUALPIPE),
        ("GPipe", Schedule.AFAB),
    ],
)
def test_schedules_by_name(words, kind):
    """As their papers call them; the paper's own title names none."""
    found = layout(tp="1", pp="4", source="Zero Bubble Pipeline Parallelism 2024", notes_url=words)

    assert found.schedule is kind


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("none", Recompute.NONE),
        ("selective(per-op)", Recompute.SELECTIVE),
        ("full", Recompute.FULL),
        ("true", Recompute.FULL),
        ("off", Recompute.NONE),
    ],
)
def test_recomputation_by_word(words, kind):
    """What frameworks call it."""
    assert layout(recompute=words).recompute is kind


def test_offload_by_word():
    """Only where it is said."""
    assert layout(notes_url="dense").offload is Offload.NONE
    assert layout(notes_url="act_cpu_offload=False; no offload").offload is Offload.NONE
    assert layout(notes_url="ZeRO-3 + CPU AdamW offload").offload is Offload.OPTIMIZER
    assert layout(notes_url="full cpu offload").offload is Offload.ALL


def test_gpus_that_are_not_given_are_whole_nodes_of_the_degrees():
    """A pipeline of four stages of experts over eight GPUs takes 32."""
    row = {"model": "mixtral-8x7b", "gpu_type": "H100", "tp": "1", "pp": "4", "ep": "8", "seq_len": "4096"}

    assert run_of(row)[0].machine.gpus == 32


def test_accumulation_in_the_notes_gives_the_microbatch():
    """Global batch over replicas and steps."""
    found = layout(tp="1", pp="1", notes_url="grad_accum=2")

    assert found.micro_batch == 2


def test_a_pipeline_may_hold_embedding_and_head_apart():
    """126 layers in 8 stages are 128 slots."""
    big = {"model": "llama3.1-405b", "num_gpus": "512", "tp": "8", "pp": "8"}

    _, notes = run_of(ROW | big)

    assert any("embedding and head count as layers" in note for note in notes)
