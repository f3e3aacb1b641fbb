"""What of `parallel:` can stand together."""

import pytest

from clusterwright.errors import SpecError
from clusterwright.spec.load import job_of
from clusterwright.spec.reader import read

JOB = "name: j\ncommand: [train.py]\nnodes: 4\ngpus_per_node: 8\ntime: 30m\n"


def told(section, job=JOB):
    """Code and message of each finding."""
    try:
        job_of(read(f"{job}parallel: {section}\n".encode(), "job.yaml"))
    except SpecError as error:
        return [(one.code, one.message) for one in error.findings]
    return []


@pytest.mark.parametrize(
    "section",
    [
        "{}",
        "{tensor: 8, pipeline: 4}",
        "{tensor: 4, pipeline: 2, data: 4, interleave: 5, shard: optimizer, recompute: selective}",
        "{tensor: 8, pipeline: 2, context: 2, data: 1, sequence_parallel: true}",
        "{expert: 8, expert_tensor: 2, shard: full, shard_group: 8}",
        "{pipeline: 4, schedule: zb-h1, offload: all}",
    ],
)
def test_good_sections_are_taken(section):
    """Products divide the 32 GPUs, and nothing is said."""
    assert told(section) == []


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("{tensor: 3}", "takes 3 GPUs a replica, but 4 hosts x 8 GPUs are 32"),
        ("{tensor: 8, data: 3}", "x data 3 is 24"),
        ("{pipeline: 4, expert: 16}", "8 GPUs hold a layer"),
        ("{interleave: 2}", "one stage"),
        ("{schedule: zb-h1}", "one stage"),
        ("{pipeline: 2, schedule: zb-h1, interleave: 2}", "deals out its layers itself"),
        ("{shard_group: 8}", "nothing is in parts"),
        ("{tensor: 8, shard: full, shard_group: 3}", "4 GPUs hold the same part"),
    ],
)
def test_what_does_not_fit_is_told_with_both_sides(section, words):
    """The message has the numbers of both sides."""
    found = told(section)

    assert [code for code, _ in found] == ["parallel-mismatch"]
    assert words in found[0][1]


def test_a_shrinking_job_keeps_its_replicas_inside_a_host():
    """A replica over two hosts cannot go on with one of them."""
    shrink = JOB + "elastic: {min_nodes: 2}\nrecovery: {on_host_loss: shrink}\n"

    assert told("{tensor: 8}", shrink) == []
    assert [code for code, _ in told("{tensor: 8, pipeline: 2}", shrink)] == ["parallel-mismatch"]
    assert [code for code, _ in told("{tensor: 8, data: 4}", shrink)] == ["parallel-mismatch"]


def test_our_recipe_says_what_it_cannot_do():
    """It takes data and micro_batch, and names all that it does not take."""
    gpt = JOB.replace("command: [train.py]", "recipe: gpt")
    found = told("{tensor: 2, pipeline: 2, shard: full, micro_batch: 4}", gpt)

    assert told("{data: 32, micro_batch: 4}", gpt) == []
    assert [code for code, _ in found] == ["recipe-parallel"]
    assert "it cannot do tensor, pipeline, shard" in found[0][1]


def test_a_microbatch_is_said_once():
    """In the section or in the recipe's arguments."""
    gpt = JOB.replace("command: [train.py]", "recipe: gpt\narguments: {microbatch: 2}")

    assert [code for code, _ in told("{micro_batch: 4}", gpt)] == ["recipe-parallel"]
