"""Hosts measured by themselves, judged by each other."""

import json

from clusterwright.check.bench.kinds.memory import memory
from clusterwright.check.bench.kinds.storage import storage
from clusterwright.check.bench.stage import StageAnswer


def answers(rate):
    """Memory of `rate(host, times measured)` in bytes/s."""
    seen = {}

    def answer(host, _part, _asked, _stage):
        seen[host] = seen.get(host, 0) + 1
        value = rate(host, seen[host])
        return StageAnswer(
            0, json.dumps({"copy": value, "triad": value, "right": True, "array_bytes": 1, "threads": 1}), ""
        )

    return answer


def statuses(outcome):
    """By subject and part."""
    return {(each.subject, each.part): each.status.value for each in outcome.verdicts}


def test_equal_hosts_are_all_well(site):
    """By the fleet alone: nothing is declared of memory."""
    outcome = memory(made := site(answers(lambda *_: 1e11)))

    assert {*statuses(outcome).values()} == {"ok"}
    assert outcome.verdicts[0].expected == "100 GB/s, the median of 4 measured values"
    assert len(made.stage.orders) == 1


def test_one_host_behind_is_a_warning_after_all_were_measured_again(site):
    """One opinion does not make a fault; a module that is missing shows so."""
    outcome = memory(made := site(answers(lambda host, _: 5e10 if host == "gpu-node2" else 1e11)))

    assert {key for key, status in statuses(outcome).items() if status == "warn"} == {
        ("gpu-node2", "memory copy"), ("gpu-node2", "memory triad"),
    }  # fmt: skip
    assert [len(order) for order in made.stage.orders] == [4, 4]
    assert "dmidecode" in next(each.fix for each in outcome.verdicts if each.status == "warn")


def test_a_host_that_was_disturbed_once_is_well(site):
    """The best of its measurements counts."""
    outcome = memory(site(answers(lambda host, times: 5e10 if (host, times) == ("gpu-node2", 1) else 1e11)))

    assert {*statuses(outcome).values()} == {"ok"}


def test_two_hosts_have_nobody_to_be_compared_with(site):
    """Unknown, not green."""
    outcome = memory(site(answers(lambda *_: 1e11), hosts=["gpu-node1", "gpu-node2"]))

    assert {*statuses(outcome).values()} == {"unknown"}


def test_a_program_that_fails_is_unknown_and_quoted(site):
    """Here: no torch in that Python."""
    outcome = memory(
        site(lambda *_: StageAnswer(1, "", "Traceback\nModuleNotFoundError: No module named 'torch'"))
    )

    assert {each.status.value for each in outcome.verdicts} == {"unknown"}
    assert "No module named 'torch'" in outcome.verdicts[0].observed


def test_without_fio_small_files_are_measured_and_the_rest_is_unknown(site):
    """Each host without it is named."""
    said = StageAnswer(0, json.dumps({"fio": {}, "files": {"made": 500.0}}), "")
    outcome = storage(site(lambda *_: said, tools={"fio": ""}))

    assert {each.quantity for each in outcome.measurements} == {"small files made"}
    unknown = [each for each in outcome.verdicts if each.status == "unknown"]
    assert {each.subject for each in unknown} == {f"gpu-node{index}" for index in range(1, 5)}
    assert "fio is not installed" in unknown[0].observed
