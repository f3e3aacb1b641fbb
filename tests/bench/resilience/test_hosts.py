"""What is read from a trial on hosts, and which trials there are."""

import argparse

import pytest
from bench.resilience.hosts import ONCE, RIVALS, _trials
from bench.resilience.hosts_faults import CASES
from bench.resilience.hosts_parts import lost_steps, new_step, newest_before, parts
from bench.resilience.hosts_systems import EVERY

FAULT = 100.0


def mark(time, step, host="a", pid=1, kind="step"):
    """As trainings/marks.py writes it."""
    return {"time": time, "kind": kind, "step": step, "host": host, "pid": pid}


def test_a_step_is_new_when_a_later_process_goes_beyond():
    """What a rank of before still completes, and what is done again, is not; ids of processes are a host's own."""
    marks = [
        mark(99.0, 7), mark(99.1, 7, host="b"), mark(100.1, 8), mark(103.0, 5, host="c", kind="loaded"),
        mark(103.1, 6, host="c"), mark(103.2, 8, host="c"), mark(103.4, 9, host="c"), mark(103.5, 10, host="c"),
    ]  # fmt: skip

    assert newest_before(marks, FAULT) == 8
    assert new_step(marks, FAULT)["time"] == 103.4
    assert lost_steps(marks, FAULT) == 3
    assert new_step(marks[:6], FAULT) is None


def test_parts_follow_each_other_and_make_the_whole():
    """Each ends with the first event after the part before; one that never came belongs to the next."""
    ends = {"detect": [90.0, 103.0, 104.0], "agents": [], "restart": [102.0, 103.5]}
    found = parts(FAULT, 104.25, ends)

    assert found == {"detect": 3.0, "restart": 0.5, "first step": 0.75, "total": 4.25}
    assert parts(FAULT, 104.25, {"detect": []}) == {"total": 4.25}


@pytest.mark.parametrize(("seeds", "only", "systems"), [(5, "", None), (2, "spare|preemption", "ours")])
def test_every_case_is_tried_with_every_seed_by_us(seeds, only, systems):
    """The others once where they differ; --only and --systems take from that."""
    found = list(_trials(argparse.Namespace(seeds=seeds, only=only, systems=systems, quick=False)))
    ours = [(each.case.name, each.seed) for each in found if each.system.label == "ours"]
    others = [(each.system.label, each.case.name) for each in found if each.system.label != "ours"]

    names = [case.name for case in CASES if any(word in case.name for word in only.split("|"))]
    wanted = {
        (name, seed) for name in names for seed in range(1, seeds + 1) if seed == 1 or "same" not in name
    }
    assert wanted <= set(ours)
    assert len(ours) == len(set(ours))
    assert len(others) == (0 if systems else sum(map(len, RIVALS.values())))


def test_a_quick_run_is_one_loss_and_one_hand_over_of_ours():
    """Of the minutes that a try may take, most go to the lab."""
    found = list(_trials(argparse.Namespace(seeds=1, only="", systems=None, quick=True)))

    assert [(each.system.label, each.case.experiment) for each in found] == [
        ("ours", "hosts"),
        ("ours", "handoff"),
    ]


def test_a_case_that_is_named_exists():
    """A name that nobody has would be left out without a word."""
    names = {case.name for case in CASES}

    assert {name for tried in (ONCE, *RIVALS.values()) for name in tried} <= names
    assert set(RIVALS) == {each.label for each in EVERY} - {"ours"}
    assert len(names) == len(CASES)
