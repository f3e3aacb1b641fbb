"""The search finds what helps, is not fooled by noise, and keeps to its budget."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.check.tune.knobs import DEFAULT, Knob, KnobSettings, chosen, of_network, singles
from clusterwright.check.tune.search import FINAL, better, search
from clusterwright.errors import WrightError

KNOBS = (
    Knob("A", ("1", "2", "4"), "a"), Knob("B", ("x", "y"), "b"), Knob("C", ("on",), "c"),
)  # fmt: skip


def driven(gains, *, noise=0.02, drift=0.0, budget=60, seed=1, knobs=KNOBS):
    """The outcome on a cluster where each setting has that gain, and how many trials it took."""
    random, spent, asked = Random(seed * 7919), 0, search(knobs, budget, seed)
    batch = next(asked)
    while True:
        found = {}
        for each in batch:
            spent += 1
            value = (1 - drift) ** spent * random.gauss(1, noise)
            for pair in each.pairs:
                gain = gains.get(pair, 1.0)
                value = None if gain is None or value is None else value * gain
            found[each] = value
        try:
            batch = asked.send(found)
        except StopIteration as end:
            return end.value, spent


def test_the_best_value_of_each_knob_is_set_together():
    """Two knobs help, one hurts."""
    outcome, _ = driven({("A", "2"): 1.1, ("A", "4"): 1.3, ("B", "y"): 1.2, ("C", "on"): 0.7})

    assert outcome.won
    assert outcome.winner == KnobSettings((("A", "4"), ("B", "y")))
    assert outcome.gain == pytest.approx(1.56, rel=0.05)


def test_noise_wins_nothing():
    """Of 200 searches where nothing helps, at most a few set something, and none by more than the noise."""
    won = [outcome for seed in range(200) if (outcome := driven({}, seed=seed)[0]).won]

    assert len(won) <= 10


def test_a_drift_of_the_cluster_is_no_gain():
    """All grows slower while it is measured; the default is measured beside everything."""
    won = [driven({}, drift=0.003, seed=seed)[0].won for seed in range(100)]

    assert sum(won) <= 5


def test_what_does_not_run_is_left_out():
    """A setting that the library refuses."""
    outcome, _ = driven({("A", "4"): None, ("A", "2"): 1.2})

    assert outcome.winner == KnobSettings((("A", "2"),))


def test_nothing_runs_at_all():
    """No default, no winner, no crash."""
    outcome, _ = driven({pair: None for each in singles(KNOBS) for pair in each.pairs})

    assert outcome.winner == DEFAULT
    assert outcome.gain == 1


@given(st.integers(0, 80), st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_the_budget_is_kept(budget, seed):
    """Never more trials than asked for."""
    try:
        _, spent = driven({("A", "4"): 1.3}, budget=budget, seed=seed)
    except StopIteration as end:  # nothing to try at all
        spent = len(end.value.trials)

    assert spent <= max(budget, 0)


def test_a_small_gain_must_be_larger_than_the_default_s_own_spread():
    """The same means, another spread."""
    steady, wild = [1.0, 1.001, 0.999, 1.0, 1.002, 0.998, 1.0], [0.8, 1.3, 0.9, 1.2, 1.0, 0.7, 1.1]
    tuned = [value + 0.05 for value in steady]

    assert better(steady, tuned)
    assert not better(wild, [value + 0.05 for value in wild])
    assert not better(steady[:3], tuned[:3])
    assert len(steady) == FINAL


def test_gloo_s_knob_names_the_interface_of_the_compute_network():
    """As often as there are to be connections."""
    (knob,) = of_network("gloo", "compute")

    assert knob.values[:2] == ("compute", "compute,compute")


def test_the_value_that_a_knob_has_now_is_not_tried():
    """It is the default, which is measured anyway."""
    found = chosen(KNOBS, ["B", "A"], {"A": "2", "C": "on"}, numbers=False)

    assert [(knob.variable, knob.values) for knob in found] == [("B", ("x", "y")), ("A", ("1", "4"))]


def test_what_changes_numbers_is_tried_only_when_that_is_allowed():
    """It is left out silently when nobody named it, and refused when somebody did."""
    knobs = (*KNOBS, Knob("D", ("bf16",), "d", numbers=True))

    assert [knob.variable for knob in chosen(knobs, [], {}, numbers=False)] == ["A", "B", "C"]
    assert [knob.variable for knob in chosen(knobs, [], {}, numbers=True)] == ["A", "B", "C", "D"]
    with pytest.raises(WrightError, match=r"`D` changes numerical results[^$]*--allow-numbers"):
        chosen(knobs, ["D"], {}, numbers=False)
