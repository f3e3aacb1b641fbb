"""Numbers that one user or host chooses do not affect what is read of others."""

import pytest

from clusterwright.diagnose.judge.counting import absent
from clusterwright.monitor.gather.jobs import jobs
from clusterwright.monitor.gather.nodes import NodeSpec, nodes
from clusterwright.onhost.lib.safe_reader import parse_object
from clusterwright.onhost.snapshot.monitors import seconds

HUGE = 10**400
NAMES = "step", "total_steps", "loss", "eta_s", "mfu", "goodput", "checkpoint_age_s"


class Rank:
    """A line of a rank in a log."""

    def __init__(self, rank):
        self.rank = str(rank)


@pytest.mark.parametrize(
    "value", [HUGE, -HUGE, "x", [], {}, float("nan"), 1e999], ids=lambda value: str(value)[:5]
)
def test_a_run_with_values_that_are_no_numbers_is_shown_without_them(recorded, value):
    """In `wright top` and on the page; no other job is affected."""
    shown = recorded.made_picture(4, 2).jobs
    text = "".join(recorded._job_row(job) for job in shown)
    run = dict.fromkeys(NAMES, value) | {"state": "running", "curve": [[value, 1.0], [1, value], [1, 2.0]]}

    found = [job for _, job in jobs(text, recorded.MARK, {shown[0].name: run})]
    assert [job.name for job in found] == [job.name for job in shown]
    assert {getattr(job.run, name, None) for job in found for name in NAMES if job.run} <= {None}


def test_gpus_that_a_host_invents_are_not_shown():
    """Other digits, and a number that would be a list of a billion GPUs."""
    measures = {"watts": {"n1": {"²": 1.0, "1000000000": 1.0, "9" * 5000: 1.0, "1": 7.0}}}
    (node,) = nodes("NodeName=n1 State=IDLE", {"n1": NodeSpec("a", "b")}, measures, {}, {})

    assert [gpu.watts for gpu in node.gpus] == [None, 7.0]


def test_ranks_that_a_log_invents_name_nobody():
    """A rank of a thousand digits, and one in other digits."""
    assert absent([Rank(rank) for rank in (0, 1, 3, "²")]) == "2"
    assert absent([Rank(rank) for rank in (0, 1, 3, 10**12)]) == ""


def test_a_document_with_a_huge_integer_is_invalid():
    """Before Python 3.11 a conversion takes quadratic time."""
    assert parse_object(b'{"step": 1%s}' % (b"0" * 400)) == {}
    assert parse_object(b'{"step": 12}') == {"step": 12}


def test_a_time_in_other_digits_is_utc():
    """In the time zone of an alert."""
    assert seconds("2026-11-23T02:13:20+0²:00") == seconds("2026-11-23T02:13:20Z")
