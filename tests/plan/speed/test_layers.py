"""One layer against the published times of a 22B layer (Korthikanti et al. 2205.05198, table 4), and its laws."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog.gpus import gpu
from clusterwright.catalog.models import architecture
from clusterwright.plan.run import Layout, Machine, Recompute, Run, Stack, Training
from clusterwright.plan.speed import coefficients, layer, rates
from clusterwright.plan.speed.attention import backward, forward
from clusterwright.plan.speed.layers import sent_once
from clusterwright.plan.speed.matmul import quantization, seconds

PUBLISHED = Path(__file__).parents[3] / "bench" / "accuracy" / "published" / "layer_times.csv"
VARIANTS = {
    "Baseline no recompute": (0, Recompute.NONE),
    "Sequence Parallelism": (1, Recompute.NONE),
    "Baseline with full recompute": (0, Recompute.FULL),
    "Selective Recompute": (0, Recompute.SELECTIVE),
    "Selective + Sequence Parallel": (1, Recompute.SELECTIVE),
}


def table() -> list[dict[str, str]]:
    """The rows of the table."""
    with PUBLISHED.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("row", table(), ids=lambda row: row["variant"])
def test_a_published_layer_takes_its_time(row: dict[str, str]) -> None:
    """Forward with backward within 10%; it is not among the rows that were fitted on."""
    parallel, recompute = VARIANTS[row["variant"]]
    training = Training(
        architecture("megatron-22b"),
        2048,
        4,
        precision="fp16",
        flash_attention=False,
        dropout=True,
        gradient_bytes=2,
    )
    layout = Layout(tp=8, micro_batch=4, sequence_parallel=parallel, recompute=recompute)
    run = Run(training, layout, Machine(gpu("a100-sxm-80gb"), 8), Stack("megatron", 2022))

    one = layer(run, rates(run, coefficients()))

    assert one.total * 1e3 == pytest.approx(float(row["combined_ms"]), rel=0.1)


def test_full_recomputation_repeats_the_forward_pass(run: Run) -> None:
    """Exactly it; with fused attention selection costs nothing more."""
    speeds = rates(run, coefficients())
    full = layer(replace(run, layout=replace(run.layout, recompute=Recompute.FULL)), speeds)
    fused = layer(replace(run, training=replace(run.training, flash_attention=True)), speeds)

    assert full.recompute == full.forward.total
    assert fused.recompute == 0


def test_sequence_parallelism_saves_time(run: Run) -> None:
    """What every tensor rank did is cut into parts."""
    speeds = rates(run, coefficients())
    without = layer(replace(run, layout=replace(run.layout, sequence_parallel=0)), speeds)

    assert layer(run, speeds).total < without.total


def test_tensor_parallelism_cuts_a_layer_less_than_evenly(llama: Run) -> None:
    """Twice the ranks: more than half the time."""
    speeds = rates(llama, coefficients())
    one, two = (layer(replace(llama, layout=replace(llama.layout, tp=tp)), speeds).total for tp in (2, 4))

    assert one / 2 < two < one


def test_odd_heads_cost_what_bigscience_found(run: Run) -> None:
    """Heads of 108 on unfused attention: the layer takes 1.3 to 1.8 times as long as with heads of 144."""
    wide = replace(run.training.architecture, hidden=13824, ffn=55296, heads=96, kv_heads=96, head_dim=144)
    odd = replace(wide, heads=128, kv_heads=128, head_dim=108)
    speeds = rates(run, coefficients())
    times = [
        layer(replace(run, training=replace(run.training, architecture=shape)), speeds).total
        for shape in (wide, odd)
    ]

    assert 1.2 < times[1] / times[0] < 1.8


def test_fused_attention_moves_no_scores(llama: Run) -> None:
    """No memory traffic of its own, and backward takes two and a half forwards or so."""
    speeds = rates(llama, coefficients())
    there, traffic = forward(llama.training, 8192, 16, rates=speeds)
    back, more = backward(llama.training, 8192, 16, rates=speeds)

    assert traffic == more == 0
    assert 2 < back / there < 3.5


@given(m=st.integers(1, 65536), n=st.integers(1, 65536), k=st.integers(1, 65536))
def test_a_product_is_never_faster_than_its_rate(m: int, n: int, k: int) -> None:
    """Quantisation, depth, odd widths and memory only add."""
    run = Run(Training(architecture("llama2-7b"), 4096, 8), Layout(), Machine(gpu("h100"), 8), Stack())
    speeds = rates(run, coefficients())

    assert quantization(m, n, rates=speeds) >= 1
    assert seconds(m, n, k, rates=speeds) > 2 * m * n * k / speeds.matmul


def test_a_token_goes_to_a_node_once() -> None:
    """Eight experts on two nodes: hardly more than two copies; within one node nothing is saved."""
    training = Training(architecture("deepseek-v3"), 4096, 1024)
    machine = Machine(gpu("h100-sxm-80gb"), 64)
    near, far = (Run(training, Layout(dp=64, ep=ep), machine, Stack("megatron", 2025)) for ep in (8, 16))

    saved = [sent_once(run, rates(run, coefficients())) for run in (near, far)]

    assert saved[0] == 1
    assert saved[1] == pytest.approx(2 * (1 - 0.5**8) / 8)
