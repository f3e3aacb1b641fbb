"""What is printed for job.yaml is what a job file takes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog import architecture, gpu
from clusterwright.config.load import job_of
from clusterwright.config.reader import read
from clusterwright.errors import WrightError
from clusterwright.launch.command import command
from clusterwright.launch.variables import parallel as variables
from clusterwright.plan.machines import machine
from clusterwright.plan.run import Layout, Offload, Recompute, Run, Schedule, Training
from clusterwright.plan.search.record import SHARD, fragment, section

WORK = Training(architecture("llama3-8b"), 8192, 256)
HEAD = "name: j\ncommand: [train.py]\ntime: 12h\n"
layouts = st.builds(
    Layout,
    dp=st.just(4), tp=st.sampled_from([1, 2, 4]), pp=st.sampled_from([1, 2]), cp=st.sampled_from([1, 2]),
    micro_batch=st.integers(1, 8), zero=st.integers(0, 3), recompute=st.sampled_from(list(Recompute)),
    sequence_parallel=st.integers(0, 1), offload=st.sampled_from(list(Offload)),
)  # fmt: skip


def taken(layout):
    """The job that the printed lines make, on as many GPUs as the layout has."""
    run = Run(WORK, layout, machine(gpu("h100"), layout.gpus))
    return job_of(read((HEAD + fragment(run)).encode(), "job.yaml"))


@given(layouts)
def test_every_layout_comes_back_from_the_job_file(layout):
    """Sizes and choices are the same, and the GPUs are those of the layout."""
    job = taken(layout)
    cut = job.parallel

    assert job.nodes * job.gpus_per_node == layout.gpus
    assert (cut.tensor, cut.pipeline, cut.context, cut.data) == (layout.tp, layout.pp, layout.cp, layout.dp)
    assert (cut.micro_batch, SHARD.index(cut.shard)) == (layout.micro_batch, layout.zero)
    assert cut.recompute == layout.recompute.name.lower()
    assert cut.offload == layout.offload.name.lower()
    assert cut.sequence_parallel == bool(layout.tp > 1 and layout.sequence_parallel)


def test_pipelines_and_experts_are_written_too():
    """Interleaving, schedule, experts and groups of shards."""
    piped = taken(Layout(dp=2, pp=4, interleave=2, zero=0)).parallel
    zero_bubble = taken(Layout(dp=2, pp=4, schedule=Schedule.ZB_H1, zero=0)).parallel
    experts = taken(Layout(dp=16, tp=2, ep=8, etp=2, zero=3, shard=4)).parallel

    assert (piped.interleave, piped.schedule, zero_bubble.schedule) == (2, "1f1b", "zb-h1")
    assert (experts.expert, experts.expert_tensor, experts.shard_group) == (8, 2, 4)


def test_a_recipe_takes_the_stages_that_are_proposed():
    """With its microbatch; an interleave, which no recipe has, is refused by its name."""
    run, interleaved = (
        Run(WORK, layout, machine(gpu("h100"), 16))
        for layout in (
            Layout(dp=2, tp=2, pp=4, zero=1, micro_batch=2),
            Layout(dp=2, tp=2, pp=4, interleave=2, zero=1),
        )
    )
    recipe = "name: j\nrecipe: llama\ntime: 12h\n"
    job = job_of(read((recipe + fragment(run)).encode(), "job.yaml"))
    told = json.loads(variables(job)["CLUSTERWRIGHT_PARALLEL"])

    assert (told["pipeline"], told["tensor"], told["data"], told["schedule"]) == (4, 2, 2, "1f1b")
    assert command(job)[2:] == ("--microbatch=2",)
    with pytest.raises(WrightError, match="recipe `llama` does not support interleave"):
        job_of(read((recipe + fragment(interleaved)).encode(), "job.yaml"))


def test_gpus_that_do_not_fill_their_nodes_are_dealt_out_evenly():
    """Twelve GPUs of nodes of eight: two hosts with six each."""
    job = taken(Layout(dp=12))

    assert (job.nodes, job.gpus_per_node) == (2, 6)


def test_what_says_nothing_is_left_out():
    """A layout without experts or context parallelism does not mention them."""
    values = section(Run(WORK, Layout(dp=8), machine(gpu("h100"), 8)))

    assert values.keys() & {"expert", "context", "offload", "shard_group"} == set()
