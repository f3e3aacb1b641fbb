from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.plan.memory import peak, peak_bytes, stages
from clusterwright.plan.run import Layout, Schedule

MODELS = st.sampled_from(["llama", "gpt", "moe", "mla"])
POWERS = st.sampled_from([1, 2, 4, 8])
CUTS = st.fixed_dictionaries(
    {
        "dp": POWERS,
        "tp": POWERS,
        "pp": st.sampled_from([1, 2, 4]),
        "cp": st.sampled_from([1, 2]),
        "ep": st.sampled_from([1, 2]),
        "interleave": st.sampled_from([1, 2]),
        "micro_batch": POWERS,
        "zero": st.integers(0, 3),
        "recompute": st.integers(0, 2),
        "offload": st.integers(0, 2),
        "sequence_parallel": st.integers(0, 1),
    }
)
FAMILIES = st.sampled_from(["megatron", "fsdp", "deepspeed", "megatron-deepspeed"])


def total(run):
    return float(peak(run).total)


@given(MODELS, CUTS)
def test_the_fullest_stage_is_the_peak(plan_of, model, cut):
    """No stage holds more than the peak, and one holds as much."""
    run = plan_of(model, **cut)

    assert max(float(stage.total) for stage in stages(run)) == pytest.approx(total(run))
    assert peak_bytes(run) == pytest.approx(total(run))


@given(MODELS, FAMILIES, CUTS)
def test_larger_microbatches_and_sequences_take_more(plan_of, model, family, cut):
    """Memory grows with the microbatch and with the sequence."""
    run = plan_of(model, family, **cut)
    wider = replace(run, layout=replace(run.layout, micro_batch=2 * run.layout.micro_batch))
    longer = replace(run, training=replace(run.training, seq_len=8192))

    assert total(longer) > total(run)
    if cut["pp"] == 1:  # else fewer microbatches are in flight
        assert total(wider) > total(run)


@given(MODELS, FAMILIES, CUTS)
def test_cutting_more_takes_less(plan_of, model, family, cut):
    """Memory does not grow with tp, nor with the ZeRO stage up to 2, nor with recomputation."""
    run = plan_of(model, family, **cut | {"tp": 1, "zero": 0, "recompute": 0})
    quiet = {"fsdp", "megatron"}  # DeepSpeed's own buckets come with its first stage

    states = [total(replace(run, layout=replace(run.layout, zero=stage))) for stage in (0, 1, 2)]
    cuts = [total(replace(run, layout=replace(run.layout, tp=tp))) for tp in (1, 2, 4, 8)]
    kinds = [total(replace(run, layout=replace(run.layout, recompute=kind))) for kind in (0, 1)]

    slack = 200 * 2**20  # one more communicator
    assert all(later <= before + slack for before, later in pairwise(cuts))
    assert kinds[1] <= kinds[0]
    if family in quiet and (family, cut["pp"] > 1) != ("fsdp", True):  # whose pipelines keep all whole
        assert states == sorted(states, reverse=True)


@settings(max_examples=40)
@given(MODELS, FAMILIES, st.lists(CUTS, min_size=2, max_size=6), st.sampled_from(list(Schedule)))
def test_arrays_are_element_by_element_the_numbers(plan_of, model, family, cuts, schedule):
    """Many layouts at once give for each what it gives alone."""
    columns = {name: np.array([cut[name] for cut in cuts]) for name in cuts[0]}
    many = replace(plan_of(model, family), layout=Layout(**columns, schedule=schedule))

    together = peak(many)

    for number, cut in enumerate(cuts):
        alone = peak(plan_of(model, family, **cut, schedule=schedule))
        for part in fields(alone):
            value = np.broadcast_to(getattr(together, part.name), len(cuts))[number]
            assert value == pytest.approx(float(getattr(alone, part.name)))


def test_zero_bubble_takes_its_known_multiples(plan_of):
    """ZB-2p keeps about twice the activations of 1F1B on the first stage, ZB-1p the same (Qi et al.)."""
    usual, first, second = (
        float(peak(plan_of(pp=8, dp=1, schedule=kind)).activations)
        for kind in (Schedule.ONE_F_ONE_B, Schedule.ZB_H1, Schedule.ZB_H2)
    )

    assert first == usual
    assert second == pytest.approx(2 * usual)


def test_published_peaks(plan_of):
    """DeepSeek-V2 cut to 4 layers on 8 B200: 45.63 GiB allocated, read from the run (SimuMax v1.2)."""
    run = plan_of("mla")
    model = replace(
        run.training.architecture,
        layers=4,
        hidden=5120,
        heads=128,
        kv_heads=128,
        ffn=12288,
        vocab=102400,
        experts=160,
        experts_per_token=6,
        expert_ffn=1536,
        shared_ffn=3072,
        mtp_layers=0,
    )
    work = replace(run.training, architecture=model, seq_len=4096, global_batch=32)
    blackwell = replace(run.machine.gpu, arch="Blackwell")
    layout = Layout(dp=8, ep=8, recompute=0)
    planned = replace(run, training=work, layout=layout, machine=replace(run.machine, gpu=blackwell))

    assert float(peak(planned).allocated) / 2**30 == pytest.approx(45.63, rel=0.03)
