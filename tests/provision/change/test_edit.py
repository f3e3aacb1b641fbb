"""A value is changed in a file's text, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from clusterwright.config.reader import read
from clusterwright.provision.change.edit import drop, set_value

BLOCK = "name: lab  # ours\nnodes:\n  a100:\n    hosts: gpu-node[1-4]  # the old ones\n    memory: 16GiB\n\nlab: {}\n"
FLOW = "name: lab\nnodes:\n  a100: {hosts: 'gpu-node[1-4]', memory: 16GiB} # all\n"
WIDE = "nodes:\n  a100: {\n    memory: 16GiB,\n    hosts: gpu1\n  }\n"


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (BLOCK, BLOCK.replace("[1-4]", "[1-5]")),
        (FLOW, FLOW.replace("[1-4]", "[1-5]")),
        (WIDE, WIDE.replace("gpu1", '"gpu-node[1-5]"')),
    ],
)
def test_a_value_takes_the_place_of_another(text, after):
    """Comments, blank lines and quotes stay; brackets in a flow mapping are quoted."""
    assert set_value(text, ("nodes", "a100", "hosts"), "gpu-node[1-5]") == after


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (BLOCK, BLOCK.replace("the old ones\n", "the old ones\n    absent: gpu-node[2-3]\n")),
        (FLOW, FLOW.replace("[1-4]'", '[1-4]\', absent: "gpu-node[2-3]"')),
        (WIDE, WIDE.replace("gpu1", 'gpu1, absent: "gpu-node[2-3]"')),
    ],
)
def test_a_key_stands_behind_its_neighbor_and_goes_again(text, after):
    """Put and dropped, the text is the one from before."""
    loc = ("nodes", "a100", "absent")
    there = set_value(text, loc, "gpu-node[2-3]", previous_key="hosts")

    assert there == after
    assert drop(there, loc) == text


def test_a_key_without_a_neighbor_stands_last():
    """Also where the last value is a block of its own."""
    text = "slurm:\n  ports: [1, 2]\n  power:\n    idle: 1h\nlab: {}\n"

    assert set_value(text, ("slurm", "kill_wait"), "60s") == text.replace("1h\n", '1h\n  kill_wait: "60s"\n')
    assert drop(text, ("slurm", "kill_wait")) == text


def test_a_section_that_is_not_there_is_made():
    """A version is quoted: 25.10 is no number."""
    text = set_value("name: lab\n", ("software", "slurm"), "25.10")

    assert text == 'name: lab\n\nsoftware:\n  slurm: "25.10"\n'
    assert set_value(text, ("software", "slurm"), "26.05") == text.replace("25.10", "26.05")


@pytest.mark.parametrize(
    "text",
    [
        "name: lab\n", "name: lab\njobs: {}\n", "name: lab\njobs: {variables: {}}\n", "name: lab\njobs:\n  other: {}\n",
        "jobs: {other: {}}\nname: lab\n", "jobs:\n  variables:\n    A: b\nname: lab\n",
    ],
)  # fmt: skip
@pytest.mark.parametrize("value", ["Tree", "eth0,eth0", "4", "true", "^docker0", "a: b"])
def test_a_setting_deep_down_is_made_with_all_above_it(text, value):
    """Whatever of its parents is there, in whatever form; the rest of the file says what it said."""
    found = YAML(typ="safe").load(set_value(text, ("jobs", "variables", "NCCL_ALGO"), value))

    assert found["jobs"]["variables"]["NCCL_ALGO"] == value
    assert found["name"] == "lab"


def test_the_first_and_the_only_key_can_go():
    """A flow mapping keeps its braces."""
    assert drop("a: {b: 1, c: 2}\n", ("a", "b")) == "a: {c: 2}\n"
    assert drop("a: {b: 1}\n", ("a", "b")) == "a: {}\n"


@given(st.sampled_from([BLOCK, FLOW, WIDE]), st.text("abc[]-, 0123456789", min_size=1, max_size=20))
def test_what_was_put_is_read_again(text, value):
    """For any text of a hostlist's characters, and the other values are as before."""
    value = "n" + value.strip()
    loc = ("nodes", "a100", "hosts")
    before, after = read(text, "f").values, read(set_value(text, loc, value), "f").values

    assert after["nodes"]["a100"].pop("hosts") == value
    assert before["nodes"]["a100"].pop("hosts") != ""
    assert before == after
