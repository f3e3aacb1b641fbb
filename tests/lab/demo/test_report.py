"""The report and its claims."""

import dataclasses
import json

import pytest

from clusterwright.check.verdict import Status, Verdict
from clusterwright.lab.demo.report import SCHEMA, report

NAMED_BY_THE_ISSUE = {
    "schema", "hosts", "seconds", "second_apply_changes", "checks", "fault", "steps_total", "steps_repeated",
    "loss_final", "loss_final_uninterrupted", "losses_equal_bitwise", "left_behind",
}  # fmt: skip


def test_a_demo_in_which_all_happened_has_no_problem(told):
    """Every claim holds."""
    made = report(told)

    assert (made.ok, made.problems) == (True, ())


def test_the_document_holds_what_it_must_and_is_json(told):
    """Names and kinds are what readers of report.json count on."""
    document = json.loads(json.dumps(report(told).document(), allow_nan=False))

    assert document.keys() >= NAMED_BY_THE_ISSUE
    assert document["schema"] == SCHEMA
    assert document["hosts"] == ["control", *(f"gpu-node{number}" for number in range(1, 5))]
    assert {"image", "lab_up", "apply", "second_apply", "check", "train", "recovery"} <= document[
        "seconds"
    ].keys()
    assert document["checks"] == {"ok": 9, "warn": 1, "fail": 0, "unknown": 0, "skipped": 0}
    assert document["fault"].items() >= {"kind": "kill-host", "host": "gpu-node2", "at_step": 36}.items()
    assert (document["steps_total"], document["steps_repeated"]) == (60, 6)
    assert document["loss_final"] == document["loss_final_uninterrupted"]
    assert document["losses_equal_bitwise"] is True
    assert document["left_behind"] == []


def test_the_fault_is_placed_in_its_epoch(told):
    """Step 36 is the middle of the second epoch of 24 steps."""
    assert report(told).fault.items() >= {"epoch": 1, "epoch_part": 0.5, "joined_again_s": 2.0}.items()


WRONG = {
    "second_apply_changes": (3, "second apply"),
    "leftovers": (("mount /x",), "left behind"),
    "verdicts": ((Verdict("a", "c", Status.FAIL, "x"), Verdict("a", "d", Status.OK, "x")), "checks failed"),
    "fault": (None, "no fault"),
    "faulted": ((), "did not finish"),
    "uninterrupted": ((), "without the fault did not finish"),
    "checkpoint_every": (5, "more than a checkpoint interval"),
}


@pytest.mark.parametrize("field", WRONG)
def test_each_claim_that_does_not_hold_is_said(told, field):
    """One thing wrong is enough for a demo that failed."""
    value, said = WRONG[field]

    made = report(dataclasses.replace(told, **{field: value}))
    assert not made.ok
    assert any(said in problem for problem in made.problems)


def test_a_host_that_did_not_come_back_is_said(told):
    """It has power, and Slurm does not use it."""
    made = report(dataclasses.replace(told, fault=dataclasses.replace(told.fault, joined_time=None)))

    assert made.problems == ("the killed host did not rejoin Slurm",)


def test_another_loss_is_said_with_its_step(told):
    """The first step that differs is where one would look."""
    changed = [
        dataclasses.replace(event, more={**event.more, "loss_hex": (0.25).hex()})
        if event.step == 41
        else event
        for event in told.uninterrupted
    ]

    made = report(dataclasses.replace(told, uninterrupted=tuple(changed)))
    assert made.losses_equal_bitwise is False
    assert "1 steps, the first is 41" in made.problems[0]


def test_an_unfinished_training_is_not_compared(told):
    """Half a curve neither equals the other nor differs from it."""
    made = report(dataclasses.replace(told, uninterrupted=told.uninterrupted[:90]))

    assert (made.losses_equal_bitwise, made.steps_differing) == (None, ())


def test_events_that_are_missing_are_said(told):
    """A loss curve with a hole proves nothing."""
    holed = tuple(event for event in told.faulted if event.kind != "step" or event.step != 12)

    assert "the events lack some steps" in report(dataclasses.replace(told, faulted=holed)).problems


def test_what_broke_stands_alone_with_what_it_left(told):
    """Claims that were never reached would only hide the reason."""
    made = report(dataclasses.replace(told, broke=["no space"], leftovers=("bridge x",), faulted=()))

    assert made.problems == ("no space", "left behind: bridge x")


def test_one_machine_claims_nothing_about_hosts(told_local):
    """What does not apply is null, with the reason."""
    made = report(told_local)

    assert made.problems == ()
    assert (made.second_apply_changes, made.checks, made.seconds["lab_up"]) == (None, None, None)
    assert made.not_applicable["seconds.lab_up"]
