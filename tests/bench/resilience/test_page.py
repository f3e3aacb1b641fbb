"""docs/endure.md is what the raw lines give."""

import pytest
from bench.resilience.page import WORDS, made_from, raw, table
from bench.resilience.page_goals import GOALS
from bench.resilience.page_groups import RawLines


def test_the_page_and_its_picture_are_current():
    """`python -m bench.resilience.page` has been run since the lines changed."""
    for path, text in made_from(raw()).items():
        assert path.read_text(encoding="utf-8") == text, f"run bench/resilience/page.py: {path.name} is old"


def test_every_goal_has_a_section():
    """All eight experiments are there, each experiment of a goal in the section of its number."""
    sections = {section["number"]: section for section in WORDS["section"]}

    assert sorted(sections) == list(range(1, 9))
    for goal in GOALS:
        assert goal.experiment in sections[goal.number]["experiments"], goal.what
    assert {goal.number for goal in GOALS} == set(sections)


def test_nothing_measured_is_nothing_reached():
    """Without lines no goal counts, and the page says so."""
    (text,) = (text for path, text in made_from(RawLines([])).items() if path.suffix == ".md")

    assert f"0 of {len(GOALS)} are reached" in text
    assert text.count("Not measured yet.") == 8


def test_a_trial_that_was_lost_is_seen(line):
    """In the row of its system, with the word for it, and the row counts it."""
    lines = [line(total=0.4), line(outcome="hung", reason="no new step"), line(system="torchrun", total=4.5)]
    (text,) = (text for path, text in made_from(RawLines(lines)).items() if path.suffix == ".md")

    assert "| rank | ours | 1 of 2 | 1 hung | 0.4 |" in text
    assert "| rank | torchrun | 1 of 1 |  | 4.5 |" in text


@pytest.mark.parametrize("cells", [("a|b", "c"), ("", "")])
def test_a_cell_stays_one_cell(cells):
    """A bar would begin another one."""
    assert table(("x", "y"), [cells]).splitlines()[-1].count("|") == 3
