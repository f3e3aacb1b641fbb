"""The accuracy page."""

import csv
import json
import re
from pathlib import Path

import pytest
from bench.accuracy.page import table
from bench.accuracy.plot import LOW, UP, across, plot, up
from bench.accuracy.scores import Off

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "accuracy.md"
TABLES = (
    "megatron_lm",
    "bigscience",
    "llm_foundry",
    "megatron_bridge",
    "nemo",
    "dgxc_benchmarking",
    "simumax_b200",
)


def test_a_table_is_markdown():
    """A cell with a bar stays one cell."""
    assert table(("a", "b"), [("x|y", "1")]) == "| a | b |\n| :--- | ---: |\n| x/y | 1 |\n"


@pytest.mark.parametrize("name", TABLES)
def test_the_page_names_every_source_with_times(name):
    """Also the bad ones."""
    text = PAGE.read_text()
    with (ROOT / "bench" / "accuracy" / "published" / f"{name}.csv").open(newline="") as file:
        timed = [
            row for row in csv.DictReader(file)
            if (row["measured_iter_time_s"] or row["measured_tokens_per_s_per_gpu"])
            and (row["status"], row["task"]) == ("ok", "pretrain")
        ]  # fmt: skip

    assert timed
    assert {row["source"] for row in timed if row["source"] not in text} == set()


def test_the_page_says_where_it_is_bad_and_how_it_was_made():
    """With its command, its gates, its picture, and what it can be checked against."""
    text = PAGE.read_text()

    for words in (
        "python -m bench.accuracy",
        "## Goals",
        "## Largest errors",
        "Calculon",
        "SimuMax",
        "accuracy.svg",
    ):
        assert words in text
    mark = json.loads(re.search(r"<!-- in sample: (\{.*\}) -->", text)[1])
    assert all(0 <= value < 10 for value in mark.values())
    assert (ROOT / "docs" / "accuracy.svg").read_text().startswith("<svg")


def test_the_plot_has_a_dot_for_every_row():
    """Within the frame, also those that are far off; told when pointed at."""
    rows = [Off("s", f"<{ratio}>", ratio, 1.0) for ratio in (0.01, 1.0, 50.0)]

    drawn = plot(rows, ["H100", "V100-SXM", "TPU"])

    assert drawn.count("<circle") == 3 + 3  # and the legend's
    assert "&lt;0.01&gt;" in drawn
    assert up(LOW) == up(0.01)
    assert up(UP) == up(50.0)
    assert across(1.0) < across(10.0)
