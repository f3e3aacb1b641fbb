"""`wright apply` and `wright render` as a user meets them."""

import sys

import pytest

from clusterwright.build.action import Action
from clusterwright.build.report import Change, HostReport, Report
from clusterwright.cli._apply import Asking, plan_lines, show
from clusterwright.errors import WrightError
from clusterwright.spec.field import Cost

CHANGE = Change("file:/etc/x", "rewrite", "--- /etc/x\n+++ /etc/x\n-a\n+b", Cost.RESTART)


def action(name, why="create", cost=Cost.LIVE):
    """One change on two hosts."""
    return Action(what=name, why=why, hosts="a[1-2]", cost=cost)


def test_many_new_files_of_one_folder_are_one_line():
    """Fifty modules are not fifty lines; a few files are named."""
    many = [action(f"file:/opt/lib/{index}.py") for index in range(9)]

    assert plan_lines([*many, action("file:/etc/x")]) == [
        "a[1-2]: file:/opt/lib/: 9 files: create",
        "a[1-2]: file:/etc/x: create",
    ]


def test_a_cost_is_shown_when_it_is_one():
    """Live is the rule."""
    assert plan_lines([action("unit:slurmd.service", "restart", Cost.RESTART)]) == [
        "a[1-2]: unit:slurmd.service: restart  [restart]"
    ]


def test_without_a_terminal_nothing_is_agreed_to(monkeypatch, tmp_path):
    """The flag to pass is named, and the plan was shown."""
    with (tmp_path / "in").open("w+") as no_terminal:
        monkeypatch.setattr(sys, "stdin", no_terminal)  # the process's own stdin is the seam
        with pytest.raises(WrightError, match="pass --yes") as error:
            Asking(yes=False, quiet=True)(Report((HostReport("a1", (CHANGE,)),), dry=True))

    assert error.value.exit_code == 2


def test_a_drain_of_busy_hosts_wants_more_than_a_y():
    """Jobs would be lost by a slip of the finger."""
    drain = Report(
        (HostReport("a1", (Change("file:/etc/x", "rewrite", "", Cost.DRAIN),), job_steps=1),), dry=True
    )

    with pytest.raises(WrightError, match="jobs run on a1"):
        Asking(yes=False, quiet=True)(drain)
    assert Asking(yes=True, quiet=True)(drain)


def test_the_outcome_names_what_failed_and_what_is_next(capsys):
    """Unreachable hosts are folded; the counts are of what was done."""
    down = [HostReport(name, reached=False, error=f"ssh: {name}: timed out") for name in ("a1", "a2")]
    done = HostReport("a3", (Change("file:/etc/x", "rewrite", "", Cost.LIVE, done=True),))
    show(Report((*down, done), dry=False, seconds=1.0), "c.yaml", shown=True)

    said = capsys.readouterr().err.splitlines()
    assert said[0] == "unreachable: a[1-2]: ssh: a1: timed out"
    assert said[1] == "1 changes, 0 restarts; 1 of 3 hosts; 1.0 s"
    assert said[2].startswith("next: mend")
