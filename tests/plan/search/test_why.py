"""Sentences on why a layout loses."""

from dataclasses import fields

from clusterwright.catalog import architecture, gpu
from clusterwright.plan.charts.sheet import MEMORY, TIME
from clusterwright.plan.machines import machine
from clusterwright.plan.prediction import Memory, Time
from clusterwright.plan.run import Layout, Run, Training
from clusterwright.plan.search.answer import loses, too_large
from clusterwright.plan.search.outcome import LayoutFamily, Plan

RUN = Run(Training(architecture("llama3-8b"), 8192, 256), Layout(dp=8), machine(gpu("h100"), 8))


def plan(memory=1e9, **seconds):
    """A layout whose time has these parts, one second of ideal time among them."""
    time = Time(**{part.name: 0.0 for part in fields(Time)} | {"ideal": 1.0} | seconds)
    held = Memory(**{part.name: 0.0 for part in fields(Memory)} | {"activations": memory})
    return Plan(RUN, LayoutFamily.SHARDED, time, held)


def test_every_part_of_time_and_memory_has_words():
    """A new part of a prediction needs its words."""
    assert TIME.keys() == {part.name for part in fields(Time)}
    assert MEMORY.keys() == {part.name for part in fields(Memory)}


def test_the_part_that_grew_most_is_named():
    """With how much slower, its seconds, and those of the best."""
    best, other = plan(pipeline_bubble=0.2), plan(pipeline_bubble=0.1, data_parallel=0.5)

    assert loses(other, best) == (
        "33.3% slower; data-parallel communication: 0.5 s of 1.6 s, in the best 0 s of 1.2 s"
    )


def test_a_tie_is_said_to_be_one():
    """Nothing grew: the order decides."""
    assert loses(plan(), plan()).startswith("as fast")


def test_what_lacks_memory_says_how_much_and_what_holds_it():
    """Twice the memory of a GPU, in activations."""
    size = 2 * RUN.machine.gpu.usable_bytes
    told = too_large(plan(memory=size))

    assert told.startswith("does not fit: ")
    assert f"{size / 2 / 2**30:.1f} GiB more than a GPU has; largest part: activations" in told
