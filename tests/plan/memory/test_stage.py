from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog.records import Architecture
from clusterwright.plan.memory.stage import stage_at, stage_parameters, vocabulary
from clusterwright.plan.parameters import count
from clusterwright.plan.run import Layout, Schedule

MODELS = ["llama", "gpt", "moe", "mla"]


@given(st.integers(1, 130), st.integers(1, 16))
def test_layers_over_the_stages_are_the_layers(plan_of, layers, pp):
    """Whatever divides or not, every layer is in one stage, and no stage has two more than another."""
    run = plan_of("llama", pp=pp)
    params = count(run.training.architecture)
    params = replace(params, layers=layers)

    own = [stage_at(params, run.layout, index).layers for index in range(pp)]

    assert sum(own) == layers
    assert max(own) - min(own) <= 1


def test_layers_left_over_go_behind_the_first():
    """126 layers in 16 stages: the first and the last have one less, as Llama 3 405B was trained."""
    params = count(Architecture("405b", 126, 16384, 128, 8, 128, 53248, 128256))

    own = [stage_at(params, Layout(pp=16), index).layers for index in range(16)]

    assert own == [7, *[8] * 14, 7]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("tp", "pp", "ep"), [(1, 1, 1), (2, 4, 4), (4, 8, 8)])
def test_what_gpus_hold_adds_up_to_the_model(plan_of, model, tp, pp, ep):
    """Over all stages and all cuts the parameters are the model's, less what is replicated, plus tied copies."""
    run = plan_of(model, family="fsdp", tp=tp, pp=pp, ep=ep)
    params = count(run.training.architecture)
    stages = [stage_at(params, run.layout, index) for index in range(pp)]

    parts = [stage_parameters(run, stage) for stage in stages]
    whole = sum(part.dense * tp + part.expert * ep for part in parts)
    table = params.embedding - params.positions
    copied = (pp > 1) * ((not params.head) + (params.mtp_layers > 0)) * table

    replicated = params.layers * (params.norms + params.down) + params.moe_layers * params.router
    replicated += params.positions + params.final_norm
    assert whole - copied == pytest.approx(params.total + (tp - 1) * replicated, rel=2e-3)


def test_vocabulary_is_padded_where_the_software_pads(plan_of):
    """Megatron rounds GPT-2's 50257 up to 128 x tp; torch does not."""
    assert vocabulary(plan_of("gpt", tp=2)) == 50432
    assert vocabulary(plan_of("gpt", "fsdp", tp=2)) == 50257


def test_dense_layers_lead(plan_of):
    """The one dense layer of the model is in the first stage alone."""
    run = plan_of("moe", pp=4)
    params = count(run.training.architecture)

    dense = [stage_at(params, run.layout, index).dense for index in range(4)]

    assert dense == [1, 0, 0, 0]


def test_zb_v_comes_back(plan_of):
    """In the V shape the first GPU holds the embedding and computes the loss."""
    run = plan_of("llama", pp=4, schedule=Schedule.ZB_V)
    params = count(run.training.architecture)

    first, last = (stage_at(params, run.layout, index) for index in (0, 3))

    assert (first.has_embedding, first.last, last.last) == (1, 1, 0)


def test_dualpipe_holds_its_layers_twice(plan_of):
    """Both directions of DualPipe hold weights."""
    once, twice = plan_of("llama", pp=4), plan_of("llama", pp=4, schedule=Schedule.DUALPIPE)
    stage = stage_at(count(once.training.architecture), once.layout, 1)

    assert stage_parameters(twice, stage).dense == 2 * stage_parameters(once, stage).dense


def test_as_many_dense_layers_alternate(plan_of):
    """Where every second layer is dense, each stage has its half."""
    params = count(replace(plan_of("moe").training.architecture, dense_layers=16))

    found = [stage_at(params, Layout(pp=4), index) for index in range(4)]

    assert [(stage.dense, stage.moe) for stage in found] == [(4, 4)] * 4
