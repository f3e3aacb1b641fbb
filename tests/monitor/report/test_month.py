"""The report of a team and of a cluster."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.monitor.quantile import quantile
from clusterwright.monitor.records.record import AccountingRecord
from clusterwright.monitor.report import page, sheets, text
from clusterwright.monitor.report.money import Price
from clusterwright.monitor.report.month import report
from clusterwright.monitor.report.month_figures import Span, month

HOUR, DAY = 3600.0, 86400.0
SPAN = Span(0.0, 10 * HOUR, 8)


@pytest.fixture
def jobs(record):
    """Three teams' jobs of ten hours with eight GPUs."""
    return [
        record("1", hours=5, waited=600, gpus=4),
        record("2", start=5 * HOUR, user="bob", account="language", state="RUNNING", end=None, elapsed_s=None),
        record("3", start=-2 * HOUR, hours=4, gpus=2, account="language", state="NODE_FAIL", user="bob"),
        record("4", hours=1, gpus=1, state="FAILED", waited=7200),
        record("5", start=11 * HOUR, hours=1, gpus=8, account="other"),
    ]  # fmt: skip


def test_hours_are_those_within_the_month(jobs):
    """20 + 20 + 4 + 1 of 80: one goes on, one began before, one begins after."""
    found = month(SPAN, jobs, [], {})

    assert found.all.held_h == pytest.approx(45)
    assert found.utilisation == pytest.approx(45 / 80)
    assert {name: each.held_h for name, each in found.teams.items() if each.held_h} == {
        "vision": 21,
        "language": 24,
    }
    assert [each.id for each, _ in found.top] == ["1", "2", "3", "4"]


def test_waits_and_failures(jobs):
    """Of what began and ended in this time."""
    found = month(SPAN, jobs, [], {})

    assert sorted(found.all.waits_s) == [60, 600, 7200]
    assert found.all.failed == {"host": 1, "program": 1}
    assert found.all.failed_h == pytest.approx(5)


def test_one_team(jobs):
    """Only its jobs, its runs, and what was measured of it."""
    runs = [
        {"user": "alice", "jobs": ["1"], "failures": [{"reason": "hung"}], "gpu_s": {"step": 3600.0}},
        {"user": "bob", "jobs": ["2"], "failures": [{"reason": "host-lost"}], "gpu_s": {"step": 7200.0}},
    ]
    values = {"busy_s": [({"account": "vision"}, 7200.0), ({"account": "language"}, 3600.0)]}
    found = month(Span(0.0, 10 * HOUR, 8, "vision"), jobs, runs, values)

    assert set(found.teams) == {"vision"}
    assert found.broken == {"hung": 1}
    assert found.lost_h == {"step": 1.0}
    assert found.all.busy_h == 2.0


def test_the_failures_that_a_user_writes_hide_none_of_others(jobs):
    """Each user has an equal number of causes; the rest is counted together."""
    flood = [{"reason": f"text {number}"} for number in range(140) for _ in range(2)]
    of_bob = {"user": "bob", "jobs": ["2"], "failures": flood, "gpu_s": {"step": 1.0}}
    of_alice = {"user": "alice", "jobs": ["1"], "failures": [{"reason": "hung"}], "gpu_s": {"step": 1.0}}
    found = month(SPAN, jobs, [of_bob, of_alice], {})

    assert found.broken["hung"] == 1
    assert (len(found.broken), found.broken_others) == (40, 280 - 2 * 39)


def test_an_accounting_of_a_user_counts_up_to_the_hours_that_slurm_recorded(jobs):
    """Of this user's jobs, each once: neither invented hours nor jobs of others are in the report."""
    evil = {"failures": [{"reason": "hung"}], "gpu_s": {"step": 3e12, "lost work": 1e12, "queue": 1e12}}
    of_bob = {"user": "bob", "jobs": ["3", "1", "77"], **evil}
    found = month(SPAN, jobs, [of_bob, of_bob, {"user": "eve", "jobs": ["3", "4"], **evil}], {})

    assert found.broken == {"hung": 1}
    assert found.lost_h["step"] == pytest.approx(6)  # three quarters of 4 hours of 2 GPUs
    assert found.lost_h["lost work"] == pytest.approx(2)
    assert found.lost_h["queue"] <= 1


def test_what_was_measured(jobs):
    """Busy and idle are of the hours that were measured, which are said where they are not all."""
    values = {
        "busy_s": [({"account": "vision"}, 10 * HOUR)], "idle_s": [({"account": "vision"}, 4 * HOUR)],
        "measured_s": [({"account": "vision"}, 20 * HOUR)], "joules": [({"account": "vision"}, 3.6e6)],
        "all_joules": [({}, 7.2e6)],
    }  # fmt: skip
    found = month(SPAN, jobs, [], values)
    shown = text.text(report(found, "lab", "2026-11", None, 0.0))

    assert (found.all.use, found.all.idle) == (0.5, 0.2)
    assert "only 44% of the allocated GPU hours" in shown
    assert "2 kWh of the GPUs alone" in shown


def test_the_report_has_all_forms(jobs):
    """Text, page, table and JSON say the same; names are anybody's text."""
    hostile = {"name": "<b>\x1b[31m\u202e", "user": "=x()", "account": "<i>"}
    jobs = [*jobs, AccountingRecord("9", start=0.0, end=HOUR, elapsed_s=HOUR, gpus=1, **hostile)]
    made = report(month(SPAN, jobs, [], {}), "lab", "2026-11", Price(2.0, "EUR", "file"), 400.0)
    shown, html, table = text.text(made), page.page(made), sheets.table(made)

    assert "92.00 EUR" in shown
    assert "Teams" in shown
    assert "&lt;i&gt;" in html
    assert not {"\x1b", "\u202e"} & set(shown + html + table)
    assert table.splitlines()[0].startswith('"team","jobs","GPU hours","share"')
    assert table.splitlines()[1].startswith('"language","2","24","52%"')
    assert json.loads(json.dumps(made.data))["teams"]["vision"]["held_h"] == 21


def test_an_empty_month(record):
    """No division by nothing, no failure."""
    shown = text.text(report(month(SPAN, [], [], {}), "lab", "2026-11", None, 0.0))

    assert "0 jobs started" in shown


RECORDS = st.lists(
    st.builds(
        AccountingRecord, id=st.text("123", min_size=1),
        account=st.sampled_from(["a", "b", ""]), gpus=st.integers(0, 16),
        state=st.sampled_from(["COMPLETED", "FAILED", "RUNNING"]), start=st.one_of(st.none(), st.floats(-DAY, 2 * DAY)),
        end=st.one_of(st.none(), st.floats(-DAY, 2 * DAY)), submit=st.one_of(st.none(), st.floats(-DAY, 2 * DAY)),
    )
)  # fmt: skip


@pytest.mark.parametrize(
    "gpu_s",
    [
        {"queue": 2.0**84, "step": 1.4999 * 2**32, "unknown": 0.4999 * 2**32},
        {"step": 1e308, "lost work": 1e308, "queue": 1e308},
        {"step": 1e300, "lost work": 5e-324},
        {"step": 5e-324, "lost work": 5e-324},
        {"step": 1.0, "lost work": 1e17, "unknown": -0.0},
    ],
)
def test_numbers_of_any_size_count_up_to_the_hours_that_slurm_recorded(jobs, gpu_s):
    """A sum of small and huge numbers loses the small ones."""
    figures = month(SPAN, jobs, [{"user": "alice", "jobs": ["1"], "failures": [], "gpu_s": gpu_s}], {})

    assert sum(hours for name, hours in figures.lost_h.items() if name != "queue") <= 20 * (1 + 1e-9)


def test_a_run_has_at_most_one_failure_for_each_minute_of_its_jobs(jobs):
    """More are invented."""
    flood = [{"reason": "xid-79 GPU lost"}] * 100_000

    figures = month(SPAN, jobs, [{"user": "alice", "jobs": ["1"], "failures": flood, "gpu_s": {}}], {})

    assert figures.broken.total() + figures.broken_others == 5 * 60


@given(RECORDS)
def test_teams_add_up_to_the_whole(records):
    """Whatever clocks say: nothing is negative, and no job holds more than the time there was."""
    found = month(SPAN, records, [], {})

    assert found.all.held_h == pytest.approx(sum(each.held_h for each in found.teams.values()))
    assert 0 <= found.all.held_h <= sum(each.gpus for each in records) * 10 + 1e-6
    assert all(each >= 0 for each in found.all.waits_s)


@given(st.lists(st.floats(0, 1e6), min_size=1), st.sampled_from([0.5, 0.9]))
def test_quantiles_are_of_the_values(values, part):
    """At least so many are not above it."""
    found = quantile(values, part)

    assert found in values
    assert sum(each <= found for each in values) >= part * len(values) - 1e-9


def test_a_quantile_is_by_rank_also_where_the_product_is_not_exact():
    """0.07 * 100 is more than 7, and 12.5 % of 8 values is the first; of nothing it is nothing."""
    assert [quantile(range(1, n + 1), part) for part, n in ((0.07, 100), (0.125, 8), (0.9, 3))] == [7, 1, 3]
    assert quantile([], 0.5) is None
