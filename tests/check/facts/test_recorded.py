"""Every parser against recorded outputs, and against what no parser should swallow."""

import dataclasses
import json
from pathlib import Path

import pytest

from clusterwright.check.fact import Missing
from clusterwright.check.reading import value_of
from clusterwright.check.registry import all_facts
from clusterwright.slurm.nodes import Node

HERE = Path(__file__).parent
FACTS = {fact.id: fact for fact in all_facts()}
CASES = sorted(HERE.glob("*/*.txt"))
# What is no answer at all: a parser that makes a value of it would turn blindness into a finding.
NO_ANSWERS = {
    "nothing": "",
    "garbage": "\x00\x01{]% qwertz,;|=\n\n\x7f",
    "an_error": "slurm_load_node error: Unable to contact slurm controller (connect failure)\n",
    "a_page": "<html><head><title>502 Bad Gateway</title></head></html>\n",
    "other_json": '{"unexpected": [1, null, {"deep": true}]}',
}
# Where no lines at all are an answer: nothing failed, no such account, and so on.
MAY_BE_EMPTY = {
    "failed_units",
    "governors",
    "accounts",
    "slurm_files",
    "gpu_files",
    "link_rates",
    "listening",
}
# Where the last words are the finding, whatever they are.
QUOTES = {"torch_import"}


def plain(value):
    """The value as JSON would hold it; of a node what is read out of its record."""
    rows = [node_fields(node) for node in value] if is_nodes(value) else value
    return json.loads(json.dumps(rows, default=dataclasses.asdict))


def is_nodes(value):
    """True of what the fact slurm_nodes is."""
    return isinstance(value, tuple) and any(isinstance(one, Node) for one in value)


def node_fields(node):
    """A node's fields by name, its state as the base and the flags."""
    return {
        "name": node.name,
        "state": [node.state.base, *sorted(node.state.flags)],
        "reason": node.reason,
        "comment": node.comment,
        "cpus": node.cpus,
        "memory_bytes": node.memory_mib * 2**20,
        "gpus": node.gpus,
        "gpu_model": node.gpu_model,
    }


def end(out):
    """A command that ended well."""
    return {"code": 0, "out": out, "err": "", "seconds": 0.0, "stopped": ""}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.stem}")
def test_a_recorded_output_is_read(case):
    """What a real tool printed becomes the value that was reviewed once."""
    found = FACTS[case.parent.name].parse(case.read_text())

    assert plain(found) == json.loads(case.with_suffix(".json").read_text())


@pytest.mark.parametrize("name", sorted(FACTS))
def test_every_fact_with_a_command_has_a_recorded_case(name):
    """A parser without an output to parse is a guess."""
    assert FACTS[name].depends_on or list((HERE / name).glob("*.txt"))


@pytest.mark.parametrize("kind", NO_ANSWERS)
@pytest.mark.parametrize("name", sorted(set(FACTS) - QUOTES))
def test_what_is_no_answer_is_missing(name, kind):
    """Garbage is never read as a value; the reason quotes it."""
    found = value_of(FACTS[name], end(NO_ANSWERS[kind]), name)

    if kind == "nothing" and name in MAY_BE_EMPTY:
        assert not found
    else:
        assert isinstance(found, Missing), found
        assert found.reason.startswith(f"`{name}` printed unexpected output: ")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.stem}")
def test_a_torn_output_never_breaks_the_reading(case):
    """Cut anywhere, an output is read in part or is missing, but nothing is raised."""
    fact, text = FACTS[case.parent.name], case.read_text()

    cuts = range(0, len(text), max(1, len(text) // 60))
    read = [value_of(fact, end(text[:cut]), fact.id) for cut in cuts]

    assert len(read) == len(cuts)


@pytest.mark.parametrize("name", sorted(FACTS))
def test_a_failed_command_is_missing_with_its_code_and_words(name):
    """An exit code that the fact does not expect makes it missing, whatever was printed."""
    done = end("") | {"code": 99, "err": "first\nlast words\n"}

    assert value_of(FACTS[name], done, name) == Missing(f"`{name}` exited with code 99: last words")


@pytest.mark.parametrize("name", sorted(FACTS))
def test_an_overrun_is_missing_and_named(name):
    """The probe that overran is named with its own limit; what it had printed is not believed."""
    done = end("half an answ") | {"code": -9, "stopped": "overran"}

    assert value_of(FACTS[name], done, name) == Missing(
        f"`{name}` exceeded its time limit of {FACTS[name].limit_s:g} s"
    )
