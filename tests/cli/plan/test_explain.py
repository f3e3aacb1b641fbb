"""`wright plan explain`."""

import json
from pathlib import Path

import pytest

from clusterwright.cli.plan._inputs import MachineOptions
from clusterwright.cli.plan.explain import RunOptions, explain
from clusterwright.errors import WrightError

PUBLISHED = Path(__file__).parents[3] / "bench" / "accuracy" / "published"
CUT = RunOptions(model="llama3-70b", seq=8192, global_batch=128, tp=4, pp=4)
WHERE = MachineOptions(gpu="h100", gpus=64)


def test_every_part_of_the_answer_is_there(capsys):
    """Headline, waterfall, memory, what helps, what it rests on; notes are talk."""
    assert explain(run_options=CUT, machine_options=WHERE) == 0

    said = capsys.readouterr()
    for words in (
        "llama3-70b on 64 x h100-sxm-80gb", "\ntime\n", "model FLOPs at peak", "wall time",
        "memory per GPU", "usable", "best improvements", "\ninputs\n", "datasheet",
    ):  # fmt: skip
        assert words in said.out
    assert "note: no recomputation given" in said.err


def test_one_row_of_a_table(capsys):
    """By the line where an editor shows it."""
    assert explain(row=f"{PUBLISHED / 'megatron_lm.csv'}:20") == 0

    assert capsys.readouterr().out.startswith("GPT-310B on 1920 x a100-sxm-80gb")


def test_a_line_without_a_row_is_said():
    """With a line that has one."""
    for place in (f"{PUBLISHED / 'megatron_lm.csv'}:9999", str(PUBLISHED / "megatron_lm.csv")):
        with pytest.raises(WrightError) as caught:
            explain(row=place)

        assert caught.value.findings[0].code == "explain-no-row"


def test_as_json(capsys):
    """All of it, in seconds and bytes."""
    assert explain(run_options=CUT, machine_options=WHERE, json=True) == 0

    document = json.loads(capsys.readouterr().out)
    assert document["low"] < document["high"]
    assert len(document["stages"]) == 4


def test_as_a_page(capsys):
    """Written beside the text."""
    assert explain(run_options=CUT, machine_options=WHERE, html=Path("page.html")) == 0

    assert "<svg" in Path("page.html").read_text()
    assert "report: page.html" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("cut", "where", "code"),
    [
        (RunOptions(), WHERE, "explain-no-model"),
        (CUT, MachineOptions(), "plan-no-machine"),
        (RunOptions(model="llama9"), WHERE, "unknown-model"),
        (RunOptions(model="llama3-70b", tp=5), WHERE, "predict-gpus-differ"),
    ],
)
def test_what_cannot_be_explained(cut, where, code):
    """Each with its own code."""
    with pytest.raises(WrightError) as caught:
        explain(run_options=cut, machine_options=where)

    assert code in {finding.code for finding in caught.value.findings}
