"""What of `parallel:` can stand together."""

import pytest

from clusterwright.config.load import job_of
from clusterwright.config.reader import read
from clusterwright.errors import SpecError

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
        ("{tensor: 3}", "3 GPUs per replica, which does not divide the 32 GPUs"),
        ("{tensor: 8, data: 3}", "x data 3 is 24"),
        ("{pipeline: 4, expert: 16}", "does not divide the 8 GPUs of a layer"),
        ("{interleave: 2}", "one stage"),
        ("{schedule: zb-h1}", "one stage"),
        ("{pipeline: 2, schedule: zb-h1, interleave: 2}", "assigns layers to stages itself"),
        ("{shard_group: 8}", "but shard is none"),
        ("{tensor: 8, shard: full, shard_group: 3}", "does not divide the 4 replicas"),
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
    assert told("{tensor: 8, pipeline: 2}", shrink) == [
        (
            "parallel-mismatch",
            "`on_host_loss: shrink` needs whole replicas on each host, but a replica has 16 GPUs and a host 8",
        )
    ]
    [(code, message)] = told("{tensor: 8, data: 4}", shrink)
    assert code == "parallel-mismatch"
    assert (
        "`data: 4` cannot be kept: after the loss of a host the job has too few GPUs for 4 replicas"
        in message
    )
    assert len(told("{tensor: 8, pipeline: 2, data: 2}", shrink)) == 2


def test_our_recipe_says_what_it_cannot_do():
    """It names all that it does not take; a llama can be cut in more ways."""
    gpt, llama = (JOB.replace("command: [train.py]", f"recipe: {name}") for name in ("gpt", "llama"))
    found = told("{tensor: 2, pipeline: 2, interleave: 2, shard: full, micro_batch: 4}", gpt)

    assert told("{data: 32, micro_batch: 4, shard: full, shard_group: 8, recompute: full}", gpt) == []
    assert [code for code, _ in found] == ["recipe-parallel"]
    assert "recipe `gpt` does not support tensor, interleave" in found[0][1]
    assert told("{tensor: 2, context: 2, pipeline: 2, shard: full, schedule: afab}", llama) == []


def test_stages_that_our_recipe_cannot_have_are_refused_before_they_are_submitted():
    """Layers that do not divide, and orders of microbatches that are not done."""
    gpt = JOB.replace("command: [train.py]", "recipe: gpt\narguments: {layers: 6}")

    assert told("{pipeline: 2}", gpt) == []
    assert "pipeline 4 does not divide the 6 layers of recipe `gpt`" in told("{pipeline: 4}", gpt)[0][1]
    assert "recipe `gpt` has no schedule zb-h1" in told("{pipeline: 2, schedule: zb-h1}", gpt)[0][1]


def test_a_microbatch_is_said_once():
    """In the section or in the recipe's arguments."""
    gpt = JOB.replace("command: [train.py]", "recipe: gpt\narguments: {microbatch: 2}")

    assert [code for code, _ in told("{micro_batch: 4}", gpt)] == ["recipe-parallel"]
