"""An iteration adds up, obeys the laws of its machine, and is the same for one layout and for many."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.catalog.gpus import gpu
from clusterwright.catalog.models import architecture
from clusterwright.plan import flops
from clusterwright.plan.prediction import Bound, Time
from clusterwright.plan.run import Layout, Machine, Network, Recompute, Run, Schedule, Stack, Training
from clusterwright.plan.speed import bound, coefficients, compose, ends, iteration, layer, rates, span
from clusterwright.plan.speed.meaning import MEANING

MODELS = ("llama2-7b", "mixtral-8x7b", "deepseek-v3", "nemotron-h-8b", "gpt3-13b")
GPUS = ("a100-sxm-80gb", "h100-sxm-80gb", "gb200", "v100-sxm2-32gb", "mi300x", "h100-pcie-80gb")
FAMILIES = ("megatron", "megatron-deepspeed", "fsdp", "deepspeed", "maxtext", "nemo-automodel", "unheard-of")

runs = st.builds(
    lambda name, card, family, year, precision, flash, cut: Run(
        Training(architecture(name), 4096, 256, precision=precision, flash_attention=flash),
        cut,
        Machine(gpu(card), int(cut.gpus)),
        Stack(family, year),
    ),
    st.sampled_from(MODELS),
    st.sampled_from(GPUS),
    st.sampled_from(FAMILIES),
    st.integers(2020, 2026),
    st.sampled_from(["bf16", "fp16", "fp8", "mxfp8", "nvfp4"]),
    st.booleans(),
    st.builds(
        Layout,
        dp=st.sampled_from([1, 4, 32]),
        tp=st.sampled_from([1, 2, 8]),
        pp=st.sampled_from([1, 2, 4]),
        cp=st.sampled_from([1, 2]),
        ep=st.sampled_from([1, 4]),
        micro_batch=st.sampled_from([1, 2]),
        interleave=st.sampled_from([1, 2]),
        zero=st.sampled_from([0, 1, 2, 3]),
        recompute=st.sampled_from(list(Recompute)),
        schedule=st.sampled_from(list(Schedule)),
    ),
)


@given(runs)
@settings(max_examples=40, deadline=None)
def test_parts_are_times_and_add_up(run: Run) -> None:
    """No part is negative or nothing at all, and the total is their sum."""
    time_of = iteration(run)
    parts = [getattr(time_of, part.name) for part in fields(Time)]

    assert min(parts) >= 0
    assert time_of.total == pytest.approx(sum(parts))
    assert time_of.total > time_of.ideal > 0


@given(runs, st.floats(1.1, 3))
@settings(max_examples=40, deadline=None)
def test_a_better_machine_is_never_slower(run: Run, factor: float) -> None:
    """More FLOP/s, memory bandwidth, link or network bandwidth: never more time."""
    card, network = run.machine.gpu, run.machine.network
    faster = {name: rate * factor for name, rate in card.peak.items()}
    reached = {name: rate * factor for name, rate in (card.achieved or {}).items()}
    better = [
        replace(run.machine, gpu=replace(card, peak=faster, achieved=reached)),
        replace(run.machine, gpu=replace(card, memory_bytes_per_s=card.memory_bytes_per_s * factor)),
        replace(run.machine, gpu=replace(card, link_bytes_per_s=card.link_bytes_per_s * factor)),
        replace(run.machine, network=replace(network, nic_bytes_per_s=network.nic_bytes_per_s * factor)),
    ]
    before = iteration(run).total

    assert all(iteration(replace(run, machine=machine)).total <= before * (1 + 1e-9) for machine in better)


def test_weak_scaling_costs_little_and_never_nothing(llama: Run) -> None:
    """The same work per GPU on 32 times as many: a few percent, as in NVIDIA's tables."""
    many = replace(
        llama,
        training=replace(llama.training, global_batch=128 * 32),
        layout=replace(llama.layout, dp=128),
        machine=replace(llama.machine, gpus=2048),
    )

    growth = iteration(many).total / iteration(llama).total

    assert 1.0 < growth < 1.06


def test_strong_scaling_halves_the_work(llama: Run) -> None:
    """Twice the replicas on the same batch: half the ideal, and more than half the whole."""
    twice = replace(llama, layout=replace(llama.layout, dp=8), machine=replace(llama.machine, gpus=128))
    one, two = iteration(llama), iteration(twice)

    assert two.ideal == pytest.approx(one.ideal / 2)
    assert one.total / 2 < two.total < one.total


def test_many_layouts_are_each_timed_as_if_alone(llama: Run) -> None:
    """Arrays in the layout give what scalars give."""
    cuts = [(4, 4, 4, 5, 1, 1), (2, 8, 4, 1, 2, 2), (8, 8, 1, 1, 1, 0), (16, 2, 2, 1, 1, 2)]
    names = ("dp", "tp", "pp", "interleave", "micro_batch", "recompute")
    columns = {name: np.array(values) for name, values in zip(names, zip(*cuts, strict=True), strict=True)}
    whole = {"cp", "ep", "etp", "zero", "shard", "sequence_parallel", "offload"}
    rest = {name: np.full(len(cuts), getattr(llama.layout, name)) for name in whole}

    together = iteration(replace(llama, layout=replace(llama.layout, **columns, **rest))).total

    alone = [
        iteration(replace(llama, layout=replace(llama.layout, **dict(zip(names, cut, strict=True))))).total
        for cut in cuts
    ]
    assert together == pytest.approx(alone)


def test_an_iteration_is_composed_of_its_factors(llama: Run) -> None:
    """A layer's and the ends' times, worked out once, give the same as the run as a whole."""
    speeds = rates(llama, coefficients())

    parts = compose(llama, speeds, layer(llama, speeds), ends(llama, speeds))

    assert parts == iteration(llama)


def test_the_ideal_is_model_flops_at_the_peak(llama: Run) -> None:
    """6 x parameters and attention, over all GPUs, at the datasheet's rate."""
    work = flops.training(llama.training.architecture, 8192) * 8192 * 128

    assert iteration(llama).ideal == pytest.approx(work / 64 / llama.machine.gpu.peak["bf16"])


def test_recomputing_everything_costs_about_a_third(run: Run) -> None:
    """Between selective and full recomputation lies a forward pass (Korthikanti: 13.75 s and 18.13 s)."""
    full = replace(run, layout=replace(run.layout, recompute=Recompute.FULL))

    assert 1.2 < iteration(full).total / iteration(run).total < 1.4


def test_a_thin_network_shows_as_data_parallel_communication() -> None:
    """A 7B model sharded over nodes on 25 Gbit/s is bound by it; on a node it is not."""
    training = Training(architecture("llama2-7b"), 4096, 64)
    thin = Network("ethernet", 1, 3.125e9)
    layout, stack = Layout(dp=32, zero=3), Stack("fsdp", 2025)
    spread = iteration(Run(training, layout, Machine(gpu("a100-sxm-80gb"), 32, network=thin), stack))
    node = iteration(Run(training, Layout(dp=8, zero=3), Machine(gpu("a100-sxm-80gb"), 8), stack))

    assert bound(spread) is Bound.DATA_PARALLEL
    assert bound(node) is Bound.COMPUTE


def test_a_short_pipeline_of_few_microbatches_is_bound_by_its_bubble(run: Run) -> None:
    """As many microbatches as stages and no interleaving: nearly half the time is idle."""
    idle = replace(
        run,
        training=replace(run.training, global_batch=8),
        layout=replace(run.layout, interleave=1),
    )

    assert bound(iteration(idle)) is Bound.PIPELINE_BUBBLE


@given(runs)
@settings(max_examples=30, deadline=None)
def test_the_range_lies_around_the_prediction(run: Run) -> None:
    """P10 below P90, and both within a factor of three of the time."""
    time_of = iteration(run)
    low, high = span(run, time_of)

    assert time_of.total / 3 < low < high < time_of.total * 3


def test_one_prediction_needs_no_numpy() -> None:
    """Which takes longer to import than a thousand predictions."""
    code = (
        "import sys\n"
        "from clusterwright.catalog.gpus import gpu\n"
        "from clusterwright.catalog.models import architecture\n"
        "from clusterwright.plan.run import *\n"
        "from clusterwright.plan.speed import iteration\n"
        "model = architecture('deepseek-v3')\n"
        "run = Run(Training(model, 4096, 512), Layout(dp=8, pp=4, ep=8), Machine(gpu('h100'), 32))\n"
        "iteration(run)\n"
        "print('numpy' in sys.modules)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert said == "False\n"


def test_adapters_save_the_products_by_the_weight(llama: Run) -> None:
    """NeMo 24.07 prints 1.45 to 1.47 times the tokens for LoRA over full tuning of LLaMA-2; 1.5 is the limit."""
    tuned = replace(llama, training=replace(llama.training, task="sft"))
    adapted = replace(llama, training=replace(llama.training, task="lora"))

    ratio = float(iteration(tuned).total) / float(iteration(adapted).total)
    assert 1.2 < ratio < 1.5
    assert iteration(adapted).optimizer < iteration(tuned).optimizer / 50


def test_every_rate_says_what_it_means(run: Run) -> None:
    """Whoever reads a prediction taken apart finds the unit of each number."""
    assert set(MEANING) == {each.name for each in fields(rates(run, coefficients()))}
    assert all(MEANING.values())
