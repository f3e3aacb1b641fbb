"""The raw line and what all benches share."""

import sys

import pytest
from bench.resilience.lines import EXPERIMENTS, Lines, interleaved, options, read, spread
from hypothesis import given
from hypothesis import strategies as st


def test_a_line_is_written_whole_and_read_back(tmp_path):
    """Every key is there, times are short, and the load is that of the beginning where it is given."""
    path = tmp_path / "raw.jsonl"
    lines = Lines("kill", str(path))
    lines.write("ours", seconds={"total": 0.42123456789}, load=0.25)
    lines.write("torchrun", flags="default", outcome="hung", reason="no new step")

    first, second = read(path)
    assert first["seconds"] == {"total": 0.42123}
    assert (first["load"], first["outcome"], first["flags"]) == (0.25, "ok", "best")
    assert {"time", "versions", "figures", "case", "seed"} <= first.keys()
    assert (second["outcome"], second["flags"], second["reason"]) == ("hung", "default", "no new step")
    assert second["load"] >= 0


def test_an_experiment_that_nobody_knows_is_refused():
    """The page would not find its lines."""
    with pytest.raises(ValueError, match="kil: unknown experiment"):
        Lines("kil")
    assert set(EXPERIMENTS.values()) == set(range(1, 9))


@given(st.integers(1, 8), st.integers(1, 20))
def test_systems_take_turns(count, seeds):
    """Each once for each seed, and over as many seeds as there are systems each is first once."""
    systems = list(range(count))
    found = list(interleaved(systems, seeds))

    assert sorted(found) == [(seed, system) for seed in range(1, seeds + 1) for system in systems]
    first = [found[at * count][1] for at in range(seeds)]
    assert all(len(set(first[at : at + count])) == count for at in range(seeds - count + 1))


def test_a_spread_is_a_median_with_its_ends():
    """And nothing of nothing."""
    assert spread([3.0, 1.0, 2.0]) == (2.0, 1.0, 3.0, 3)
    assert spread([]) is None


@pytest.mark.parametrize(
    ("words", "seeds"), [([], 10), (["--quick"], 2), (["--quick", "--seeds", "4"], 4), (["--seeds", "3"], 3)]
)
def test_seeds_are_settled(monkeypatch, words, seeds):
    """By the option, else by --quick, else by the script."""
    monkeypatch.setattr(sys, "argv", ["kill.py", *words])  # argparse reads it; there is no other way in

    assert options("").seeds == seeds
