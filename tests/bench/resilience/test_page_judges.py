"""What counts as reached."""

import pytest
from bench.resilience.page_groups import RawLines
from bench.resilience.page_judges import (
    at_most,
    cold_no_slower,
    none_of,
    others,
    overhead,
    share_over,
    slowest_median,
    storm,
    total_below,
)


@pytest.mark.parametrize(
    ("totals", "outcome", "reached"),
    [
        ((0.4, 0.5, 0.9), "ok", True),
        ((0.4, 0.7, 0.9), "ok", False),
        ((0.4, 0.5), "lost", False),
        ((), "ok", False),
    ],
)
def test_a_median_counts_when_every_trial_went_well(line, totals, outcome, reached):
    """One that was lost spoils it, and so does a slow median; of nothing nothing is reached."""
    lines = [line(total=total) for total in totals]
    lines += [line(system="ours cold", total=9.0), line(case="another", total=9.0)]
    if outcome != "ok":
        lines.append(line(outcome=outcome))

    text, found = slowest_median(0.6, cases="rank")(RawLines(lines))
    assert found is reached
    assert (outcome in text) is (outcome != "ok")


@pytest.mark.parametrize(("cold", "reached"), [(4.0, True), (4.6, False)])
def test_cold_is_held_against_the_quickest_of_those_that_restart(line, cold, reached):
    """Also against defaults, where these are quicker; torchft's survivor was never started anew."""
    lines = [
        line(system="ours cold", total=cold), line(system="torchrun, own store", total=5.0),
        line(system="ft_launcher", flags="default", total=4.5), line(system="torchft", total=3.0),
    ]  # fmt: skip

    assert cold_no_slower(RawLines(lines))[1] is reached


def test_cold_alone_has_nothing_to_be_held_against(line):
    """No rival ran: not reached."""
    assert cold_no_slower(RawLines([line(system="ours cold", total=1.0)])) == (
        "1 s, nothing beside it",
        False,
    )


@pytest.mark.parametrize(("outcome", "reached"), [("ok", True), ("differs", False)])
def test_a_storm_counts_when_nothing_differs(line, outcome, reached):
    """By its own number of kills alone."""
    figures = {"recovered": 20, "losses": 500, "differing_losses": 0}
    more = {"case": "20 kills", "outcome": outcome, "figures": figures}
    lines = RawLines([line("storm", total=0.4, **more)])

    assert storm(20)(lines)[1] is reached
    assert storm(200)(lines)[1] is False


def steps(line, name, *medians, **more):
    """A training for each median."""
    return [
        line("overhead", name, case="step", seed=seed, seconds={"median": median, **more})
        for seed, median in enumerate(medians)
    ]


@pytest.mark.parametrize(("ours", "reached"), [(0.0502, True), (0.0504, False)])
def test_overhead_is_a_share_of_the_bare_step(line, ours, reached):
    """Half a percent of 50 ms is 0.25 ms."""
    text, found = overhead(RawLines(steps(line, "ours", ours) + steps(line, "bare", 0.05)))

    assert found is reached
    assert "1 pair)" in text


def test_overhead_is_that_of_pairs(line):
    """A machine that is slower in the second pair is slower for both; a training without another is no pair."""
    lines = steps(line, "ours", 0.0501, 0.0701, 0.09) + steps(line, "bare", 0.05, 0.07)
    text, found = overhead(RawLines(lines))

    assert found
    assert text == "+0.17% of 60.0 ms (+0.1% to +0.2%, 2 pairs)"


@pytest.mark.parametrize(("outside", "reached"), [(0.0002, True), (0.0004, False)])
def test_overhead_counts_what_lies_between_the_work_of_two_steps(line, outside, reached):
    """A median does not see what is done in each fourth step."""
    lines = steps(line, "ours", 0.05, outside_cpu=outside) + steps(line, "bare", 0.05, outside_cpu=0.0001)
    text, found = overhead(RawLines(lines))

    assert found is reached
    assert "between the work of two" in text


def test_of_no_trainings_no_overhead_is_known(line):
    """Nor of one side alone."""
    assert overhead(RawLines(steps(line, "ours", 0.05))) == ("", False)


def test_others_are_told_with_what_they_lost(line):
    """Each by its median, and by what came instead; ours is not among them."""
    lines = [line(total=0.4), line(system="torchrun", flags="default", total=4.5)]
    lines += [
        line(system="torchrun", flags="default", outcome="hung"),
        line(system="torchft", outcome="skipped"),
    ]

    assert others()(RawLines(lines)) == "torchrun (default) 4.5 s, 1 hung"


def test_one_slow_case_spoils_all(line):
    """Each case has its own median; one that is left out does not count."""
    lines = RawLines([line(case="SIGSTOP", total=2.0), line(case="spin", total=5.0)])

    assert slowest_median(4.0)(lines)[1] is False
    assert slowest_median(4.0, but=("spin",))(lines) == ("SIGSTOP 2 s", True)


@pytest.mark.parametrize(
    ("figures", "outcome", "reached"),
    [
        ({"doubled": 0, "skipped": 0}, "ok", True),
        ({"doubled": 0, "skipped": 1}, "differs", False),
        ({"doubled": 0}, "ok", False),
        ({"doubled": 0, "skipped": 0}, "lost", False),
    ],
)
def test_none_means_none_in_lines_that_tell(line, figures, outcome, reached):
    """A line without the figure is no proof that it was 0."""
    lines = [line("bitwise", figures=figures, outcome=outcome)]

    assert none_of("doubled", "skipped")(RawLines(lines))[1] is reached
    assert none_of("doubled")(RawLines([]))[1] is False


@pytest.mark.parametrize(("steps", "reached"), [(10_000, True), (2_000, False)])
def test_a_short_trial_is_not_a_long_one(line, steps, reached):
    """No false alarm in 2,000 steps says nothing about 10,000."""
    lines = [line("hang", case="pauses", figures={"false_alarms": 0, "steps": steps})]

    assert none_of("false_alarms", steps=10_000)(RawLines(lines))[1] is reached


@pytest.mark.parametrize(
    ("values", "median", "worst"), [((1.0, 1.1, 1.5), True, False), ((1.0, 1.3), True, False)]
)
def test_a_figure_is_judged_by_its_median_or_by_its_worst(line, values, median, worst):
    """The ledger must be right each time, a stall most of the time."""
    lines = RawLines([line("checkpoint", figures={"stall": value}) for value in values])

    assert at_most(1.2, "stall")(lines)[1] is median
    assert at_most(1.2, "stall", median=False)(lines)[1] is worst


def test_a_total_is_below_that_of_each_rival_in_each_case(line):
    """The first save and loads are cases of their own, and a case without a rival proves nothing."""
    lines = [
        line("checkpoint", total=1.0, case="300 MB"),
        line("checkpoint", "dcp", total=1.5, case="300 MB"),
    ]
    first = [
        line("checkpoint", total=9.0, case="300 MB, first"),
        line("checkpoint", "dcp", total=1.0, case="300 MB, first"),
    ]
    worse = [
        line("checkpoint", total=4.0, case="1.2 GB"),
        line("checkpoint", "dcp", total=3.0, case="1.2 GB"),
    ]

    assert total_below(["dcp"])(RawLines([*lines, *first]))[1] is True
    assert total_below(["dcp"])(RawLines([*lines, *worse]))[1] is False
    assert total_below(["dcp"])(RawLines(lines[:1]))[1] is False


@pytest.mark.parametrize(("ours", "reached"), [(1.09, True), (1.11, False)])
def test_a_share_is_over_the_plain_case(line, ours, reached):
    """Verifying may add a tenth."""
    lines = [
        line("checkpoint", total=ours, case="load"),
        line("checkpoint", "ours, unverified", total=1.0, case="load"),
    ]

    assert share_over(0.1, "ours, unverified", "load")(RawLines(lines))[1] is reached
