"""Judging hosts that were under load for long: wrong results, and those that became slower."""

import random

import pytest

from clusterwright.check.bench.burn_in.burned import Burned, Drift, drift, verdicts

SLICES = 40


def host(name, rate=lambda _index: 1e9, load="cpu products", **found):
    """A host that did so much in each slice."""
    made = Burned(name)
    made.add(
        {"rates": {load: [rate(index) for index in range(SLICES)]}, "wrong": {}, "broken": {}, "sums": {"cpu": 7},
         "heat": {}, "pair": None} | found
    )  # fmt: skip
    return made


def told(burned):
    """Status by subject and part."""
    return {(each.subject, each.part): each.status.value for each in verdicts(burned)}


def test_equal_hosts_that_stay_as_they_are_are_well():
    """Every result right, no drift."""
    found = told([host(f"n{index}") for index in range(8)])

    assert {*found.values()} == {"ok"}
    assert {part for _host, part in found} == {"results", "cpu products drift"}


@pytest.mark.parametrize("bad", range(8))
def test_a_host_that_became_slower_fails_alone(bad):
    """It lost a quarter of its rate, slice by slice; the others lost nothing."""
    slower = [
        host(f"n{index}", lambda at, index=index: 1e9 * (1 - 0.3 * at / SLICES if index == bad else 1))
        for index in range(8)
    ]

    failed = [key for key, status in told(slower).items() if status == "fail"]
    assert failed == [(f"n{bad}", "cpu products drift")]


def test_where_all_become_slower_it_is_a_warning_for_each():
    """The room, not a host."""
    found = told([host(f"n{index}", lambda at: 1e9 * (1 - 0.3 * at / SLICES)) for index in range(8)])

    assert {status for (_host, part), status in found.items() if part != "results"} == {"warn"}


def test_hosts_of_a_busy_machine_are_not_blamed_for_its_noise():
    """Twenty fleets of eight, whose rates go up and down by a factor of three: nobody fails."""
    for seed in range(20):
        made = random.Random(seed)
        fleet = [host(f"n{index}", lambda _at, made=made: made.uniform(0.5, 1.5)) for index in range(8)]
        assert "fail" not in told(fleet).values()


def test_two_hosts_have_nobody_to_say_which_is_usual():
    """A warning, not a failure."""
    found = told([host("n0"), host("n1", lambda at: 1e9 * (1 - 0.5 * at / SLICES))])

    assert found["n1", "cpu products drift"] == "warn"


def test_a_few_slices_say_nothing_of_drift():
    """Of two in a quarter one that was disturbed decides."""
    assert drift([1.0] * 11) is None
    assert drift([2.0] * 6 + [1.0] * 6) == Drift(0.5, is_disjoint=True)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"wrong": {"memory": ["bytes of pattern 0x55 that differ when read back: 3"]}}, "memory: bytes of"),
        (
            {"wrong": {"gpu0 products": ["1 of 64 elements of a product differ"] * 2}},
            "gpu0 products: 1 of 64",
        ),
    ],
)
def test_one_wrong_result_fails_the_host(found, said):
    """In the words of what was wrong; the others are well."""
    fleet = [host("n0"), host("n1", **found), host("n2")]

    (failed,) = [each for each in verdicts(fleet) if each.status == "fail"]
    assert (failed.subject, failed.part) == ("n1", "results")
    assert said in failed.observed


def test_another_result_of_the_same_product_a_minute_later_fails_the_host():
    """Each order's bits agreed with themselves."""
    one = host("n0")
    one.add({"rates": {}, "wrong": {}, "broken": {}, "sums": {"cpu": 8}, "heat": {}, "pair": None})

    assert told([one, host("n1"), host("n2")])["n0", "results"] == "fail"


def test_a_load_that_could_not_be_run_is_unknown_in_its_own_words():
    """Not green."""
    fleet = [host("n0", broken={"disk /scratch": "[Errno 28] No space left on device"})]

    (unknown,) = [each for each in verdicts(fleet) if each.status == "unknown"]
    assert (unknown.part, unknown.observed) == ("disk /scratch", "[Errno 28] No space left on device")


def test_a_host_that_measured_nothing_is_unknown():
    """As after an interrupt in the first order."""
    assert told([Burned("n0")]) == {("n0", "results"): "unknown"}
