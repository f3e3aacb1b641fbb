"""Rows, groups, heat and words without a terminal."""

from dataclasses import replace
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from clusterwright.i18n import _, in_language
from clusterwright.monitor.snapshot import GpuSnapshot, JobView, NodeView, Snapshot
from clusterwright.monitor.snapshot.lacks import NO_PROMETHEUS, lack
from clusterwright.monitor.top import columns
from clusterwright.monitor.top.columns import RenderOptions, fitting
from clusterwright.monitor.top.forms import compact_number, curve, heat, span, strip
from clusterwright.monitor.top.groups import groups
from clusterwright.monitor.top.messages import LABELS
from clusterwright.monitor.top.queue import JOB_FILTERS, SORTS, View
from clusterwright.monitor.top.static_screen import lines, print_screen


def test_every_column_and_filter_has_a_label():
    """Sorts and filters of the queue as well."""
    shown = {
        column.name
        for panel in (columns.NODES, columns.JOBS, columns.TEAMS, columns.ALERTS)
        for column in panel
    }

    assert shown | {*SORTS, *JOB_FILTERS} <= set(LABELS)


@pytest.mark.parametrize(
    ("use", "held", "sign", "style"),
    [
        (None, True, "?", "magenta"), (None, False, "·", "dim"), (0.0, False, "·", "dim"), (0.0, True, "▁", "bold red"),
        (0.5, True, "▅", "green"), (1.0, True, "█", "bold green"), (0.9, False, "█", "bold green"),
        (1.2, True, "█", "bold green"),
    ],
)  # fmt: skip
def test_heat(use, held, sign, style):
    """A GPU that is held and idle is red; one that nobody holds, and is used, is shown."""
    assert heat(use, is_allocated=held) == (sign, style)


def test_where_nobody_says_which_gpus_are_held_the_first_stand_for_them():
    """Slurm says how many."""
    assert [sign for sign, _style in strip([GpuSnapshot(n) for n in range(3)], gpus_used=2)] == [
        "?",
        "?",
        "·",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (-5, "0s"),
        (59, "59s"),
        (61, "1m01s"),
        (3600, "1h00m"),
        (90000, "1d01h"),
        (8.64e7, "1000d00h"),
    ],
)
def test_lengths_of_time(seconds, text):
    """A clock that goes wrong makes no minus."""
    assert span(seconds) == text


def test_numbers_and_curves():
    """Three digits; the lowest value is the lowest bar."""
    assert [compact_number(value) for value in (None, 0.5, 812, 12_345, 1.02e6, 3e9)] == [
        "-",
        "0.5",
        "812",
        "12.3k",
        "1.02M",
        "3G",
    ]
    assert curve([3.0, 2.0, 1.0], 10) == "█▅▁"
    assert (curve([], 10), curve([1.0], 0), curve([5.0, 5.0], 2)) == ("", "", "▁▁")


def test_groups_that_need_a_person_come_first(recorded):
    """Down, then drained, then the others; no node is lost."""
    picture = recorded.made_picture(200, 100)
    found = groups(picture.nodes)

    kinds = [0 if each.state == "down" else 1 if each.drained else 2 for each in found]
    assert kinds == sorted(kinds)
    assert sorted(node.name for each in found for node in each.nodes) == sorted(
        node.name for node in picture.nodes
    )


def test_names_of_many_dimensions_are_folded_in_time():
    """1,000 names of three numbers each; the rest of a longer list is cut."""
    nodes = [NodeView(f"r{a}-c{b}-n{c}", "idle") for a in range(10) for b in range(10) for c in range(10)]

    (group,) = groups(nodes)
    assert group.hosts.endswith(",...")


@given(
    name=st.text(max_size=90), user=st.text(max_size=40), reason=st.text(max_size=60), width=st.integers(1, 250),
    state=st.sampled_from(["RUNNING", "PENDING", "SPECIAL"]), lang=st.sampled_from(["en", "zh"]),
)  # fmt: skip
def test_no_text_breaks_a_line(name, user, reason, width, state, lang):
    """Whatever a stranger wrote, a row is one line, and as wide as there is room."""
    job = JobView("1", name, user, user, "train", state, reason=reason, gpus=1)

    with in_language(lang):
        shown = lines(Snapshot(name, 0.0, jobs=(job,), missing=(reason,)), RenderOptions(), width, 20)
    for line in shown:
        plain = line.plain
        assert plain.isprintable() or not plain
        if plain.startswith("1"):
            assert cell_len(plain) <= max(
                width, sum(wide + 1 for _index, _column, wide in fitting(columns.JOBS, width))
            )


def test_one_screen_is_as_long_as_asked_and_says_what_is_left_out(recorded):
    """With names that look like markup."""
    picture = recorded.made_picture(100, 300)
    console = Console(width=120, file=StringIO())
    print_screen(picture, RenderOptions(now=picture.taken), console, rows=60)

    text = console.file.getvalue()
    assert 50 < len(text.splitlines()) <= 61
    assert "and " in text.splitlines()[-1]


@pytest.mark.parametrize("sort", SORTS)
def test_every_sort_is_an_order_of_all_jobs(recorded, sort):
    """Turned around it is the same ones."""
    jobs = recorded.made_picture(60, 200).jobs
    view = View(sort=sort)

    assert sorted(job.id for job in view.select(jobs)) == sorted(job.id for job in jobs)
    assert len(replace(view, turned=True).select(jobs)) == len(jobs)


def test_what_is_missing_is_said_in_the_language():
    """The part and what is not set up; a program's own words stay."""
    lacking = Snapshot("c", 0.0, missing=(lack("alerts", NO_PROMETHEUS), lack("jobs", "squeue: no answer")))
    with in_language("zh"):
        shown = "".join(line.plain for line in lines(lacking, RenderOptions(), 150, 30))
        alerts = _("{part}: {reason}", part=_("alerts"), reason=_(NO_PROMETHEUS))
        queue = _("{part}: {reason}", part=_("the queue"), reason="squeue: no answer")
        assert _("missing: {part}", part=alerts)[:50] in shown
        assert _("missing: {part}", part=queue) in shown

    assert "missing: the queue: squeue: no answer" in [
        line.plain for line in lines(lacking, RenderOptions(), 150, 30)
    ]


def test_what_is_known_of_slurm_alone_is_shown():
    """No Prometheus, no accounting, nothing of GPUs: no number is invented."""
    node = NodeView("n1", "unknown")
    job = JobView("1", "x", "a", "", "p", "RUNNING")
    text = "\n".join(
        line.plain for line in lines(Snapshot("c", 0.0, nodes=(node,), jobs=(job,)), RenderOptions(), 150, 30)
    )

    assert "mean use -" in text
    assert "GPUs 0/0" in text
