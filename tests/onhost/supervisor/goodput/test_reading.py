"""A run's figures for people and for Prometheus."""

import re

import pytest

from clusterwright.onhost.supervisor.goodput import figures, reading
from clusterwright.onhost.supervisor.goodput.history import History
from clusterwright.onhost.supervisor.goodput.timeline import SECOND


@pytest.fixture
def found():
    """Two hosts, one fault, one checkpoint interval."""
    lines = (
        (0, "job_start", {"job_id": "1", "hosts": ["a", "b"], "ranks": 2}),
        (1, "generation_start", {"hosts": ["a", "b"]}),
        (100, "step", {"rank": 0, "step": 1, "seconds": 97}),
        (100, "checkpoint", {"step": 1, "seconds": 1.5}),
        (200, "step", {"rank": 0, "step": 2, "seconds": 98}),
        (200, "checkpoint", {"step": 2, "seconds": 1.5}),
        (205, "rank_exit", {"rank": 1, "code": -9, "host": "b"}),
        (206, "generation_end", {"reason": "ranks-failed"}),
        (207, "job_end", {"outcome": "failed"}),
    )
    events = [{"time": time, "event": kind, "generation": 1, **more} for time, kind, more in lines]
    return figures.work_out(History(events, price={"amount": 2.5, "currency": "USD"}))


def test_the_table_is_short_and_says_it_all(found):
    """Bins by size, ratios, failures, checkpoints."""
    text = "\n".join(reading.table(found))

    assert len(reading.table(found)) <= 12
    assert "4 GPUs for 3m27s, 0.23 GPU hours, 0.575 USD at 2.5 per GPU hour" in text
    assert "step       94.2%    3m15s" in text
    assert "ETTR 94.2%, goodput 94.2%; 1 failure (1 ranks-failed), MTTF 3m27s" in text
    assert text.endswith("checkpoints every 1m40s, 1.50 s of stall each")


def test_an_interval_that_costs_much_is_said(found):
    """With the setting to change."""
    found.failures *= 4

    assert reading.table(found)[-1].endswith(
        "4 failures suggest one every 12.5 s, which would save 74.0%: set `checkpoint.every`"
    )


def test_every_bin_at_once_still_fits(found):
    """The longest table there can be."""
    found.accounting.bins = {name: SECOND * place for place, name in enumerate(found.accounting.bins, 1)}

    assert len(reading.table(found)) <= 12


def test_a_run_that_has_not_begun_says_so():
    """No division by nothing."""
    assert reading.table(figures.work_out(History([]))) == ["goodput: no job of this run has started"]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.042, "0.04 s"),
        (12.34, "12.3 s"),
        (245, "4m05s"),
        (3 * 3600 + 425, "3h07m"),
        (2 * 86400 + 4 * 3600, "2d04h"),
    ],
)
def test_a_duration_has_three_digits_or_two_units(seconds, said):
    """Whatever its size."""
    assert reading.duration(round(seconds * SECOND)) == said


LINE = re.compile(r'(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+\{([a-z]+="([^"\\\n]|\\.)*",?)+\} [-+0-9.e]+)')


def test_metrics_are_in_prometheus_text_format(found):
    """Each family has its help and type, each name its unit; what is unknown is left out."""
    text = reading.metrics('odd"run', found, {"step": 2, "eta_s": None})

    assert all(LINE.fullmatch(line) for line in text.splitlines()), text
    assert 'clusterwright_run_gpu_seconds_total{run="odd\\"run",bin="detect"} 4\n' in text
    assert 'clusterwright_run_step{run="odd\\"run"} 2\n' in text
    assert "eta" not in text
