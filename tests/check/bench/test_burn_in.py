"""Burn-in on hosts that answer for themselves: judged, interrupted, checked all the while."""

import json
import re
import time

import pytest

from clusterwright.check.bench.burn_in.sampler import Sampled
from clusterwright.check.bench.kinds.burn_in import burn_in, orders
from clusterwright.check.bench.site import BenchSite
from clusterwright.check.bench.stage import StageAnswer
from clusterwright.check.verdict import Status, Verdict
from clusterwright.errors import WrightError

FOUND = {
    "rates": {"cpu products": [1e9] * 20, "memory": [2e9] * 20}, "wrong": {}, "broken": {}, "sums": {"cpu": 7},
    "heat": {"gpu0 temperature": [40.0, 61.0], "gpu0 clock": [1410.0, 1380.0]}, "pair": {"said": {}},
}  # fmt: skip
HOT = Verdict("gpu-node2", "gpu_temperature", Status.FAIL, "GPU 0 is slowed down for heat", part="gpu 0")
COOL = Verdict("gpu-node2", "gpu_temperature", Status.OK, "4 GPUs as wanted")


@pytest.fixture
def burned(cluster, stage):
    """`burned(answer, lasts_s, check)`: the outcome, and the orders that were given."""

    def run(answer=lambda *_: StageAnswer(0, json.dumps(FOUND), ""), lasts_s=20, check=list):
        hosts = [host.name for host in cluster.hosts("compute")]
        made = stage(hosts, answer)
        return burn_in(BenchSite(cluster, made, {}, lambda _text: None, lasts_s, check)), made.orders

    return run


def told(outcome):
    """Status by subject and part."""
    return {(each.subject, each.part): each.status.value for each in outcome.verdicts}


def test_hosts_that_are_well_are_measured_and_ok(burned):
    """Rates, drift and the worst of what was sampled; every host has a partner in every order."""
    outcome, given = burned()

    assert {*told(outcome).values()} == {"ok"}
    rows = {(each.subject, each.quantity): each.value for each in outcome.measurements}
    assert rows["gpu-node1", "max gpu0 temperature"] == 61.0
    assert rows["gpu-node1", "min gpu0 clock"] == 1380.0
    assert rows["gpu-node4", "memory"] == 2e9
    roles = [part.given["pair"]["role"] for order in given for part in order.values()]
    assert sorted(roles) == ["client", "client", "server", "server"]


@pytest.mark.parametrize(("lasts_s", "count"), [(20, 1), (120, 1), (121, 2), (7200, 60)])
def test_orders_are_two_minutes_at_most_and_as_long_as_asked_together(lasts_s, count):
    """An interrupt loses no more than one."""
    assert len(orders(lasts_s)) == count
    assert sum(orders(lasts_s)) == pytest.approx(lasts_s)


def test_an_interrupt_keeps_and_judges_what_was_measured(burned):
    """Three orders of sixty; what the checks say afterwards is asked all the same."""
    asked = []

    def answer(*_):
        asked.append(1)
        if len(asked) > 12:
            raise KeyboardInterrupt
        return StageAnswer(0, json.dumps(FOUND), "")

    outcome, given = burned(answer, lasts_s=7200, check=lambda: [COOL])

    assert len(given) == 4
    assert "interrupted" in outcome.notes[0]
    assert told(outcome)["gpu-node1", "results"] == "ok"
    assert {each.conditions["slices"] for each in outcome.measurements if each.quantity == "memory"} == {60}
    assert told(outcome)["gpu-node2", "gpu_temperature"] == "ok"


@pytest.mark.parametrize("orders_done", [0, 1])
def test_a_job_that_ends_early_is_judged_by_what_it_did(burned, orders_done):
    """As one that reaches its partition's limit; where it did nothing, that is an error."""
    asked = []

    def answer(*_):
        asked.append(1)
        if len(asked) > 4 * orders_done:
            raise WrightError.from_code("bench-job-ended", "Slurm's job 7 of the bench is timeout", "see why")
        return StageAnswer(0, json.dumps(FOUND), "")

    if not orders_done:
        with pytest.raises(WrightError, match="bench-job-ended"):
            burned(answer, lasts_s=7200)
        return
    outcome, _given = burned(answer, lasts_s=7200)
    assert "job 7 of the bench is timeout" in outcome.notes[0]
    assert told(outcome)["gpu-node1", "results"] == "ok"


def test_what_was_bad_under_load_alone_is_told(burned):
    """A GPU that cools down again at once; the check of afterwards is ok and stays so."""
    loaded = []

    def answer(_host, _part, _asked, _stage):
        until = time.monotonic() + 60
        while not loaded and time.monotonic() < until:
            time.sleep(0.01)
        return StageAnswer(0, json.dumps(FOUND), "")

    def check():
        loaded.append(1)
        return [HOT if len(loaded) == 1 else COOL]

    outcome, _given = burned(answer, lasts_s=1, check=check)

    assert told(outcome)["gpu-node2", "gpu_temperature"] == "ok"
    (hot,) = [each for each in outcome.verdicts if each.status == "warn"]
    assert (hot.subject, hot.part) == ("gpu-node2", "gpu_temperature gpu 0")
    assert re.match(r"under load, in 1 of \d+ samples: GPU 0 is slowed", hot.observed)


@pytest.mark.parametrize(
    ("lab", "looks", "status"), [(False, 2, "fail"), (False, 1, "warn"), (True, 2, "warn")]
)
def test_bad_under_load_fails_when_seen_twice_on_metal(lab, looks, status):
    """In a lab all load falls on one machine; and nobody fails on one look."""
    sampled = Sampled(("gpu-node2",), lab)
    for _ in range(looks):
        sampled.add([HOT])
    sampled.final_verdicts = (COOL,)

    assert [each.status.value for each in sampled.verdicts()] == ["ok", status]


def test_what_is_bad_before_and_after_is_told_once(burned):
    """By what was said last."""
    outcome, _given = burned(check=lambda: [HOT])

    assert [each.part for each in outcome.verdicts if each.status == "fail"] == ["gpu_temperature gpu 0"]


def test_streams_that_failed_are_a_note(burned):
    """Links are judged by their counters, and by `bench network`."""
    found = json.dumps(FOUND | {"pair": {"failed": "ConnectionRefusedError: refused"}})
    outcome, _given = burned(lambda *_: StageAnswer(0, found, ""))

    assert outcome.notes == (
        "network load: 4 of 4 endpoints of the data streams failed; gpu-node1: ConnectionRefusedError: refused",
    )
