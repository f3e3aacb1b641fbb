"""`wright apply` and `wright render` as a user meets them."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from clusterwright.cli._change_plan import plan_lines, show_plan
from clusterwright.cli._disruption import DisruptionOptions
from clusterwright.cli.apply import Asking, exit_of, read_disruption_policy, show, show_undoable
from clusterwright.config.field import Cost
from clusterwright.config.load import load_cluster
from clusterwright.edge.fakes import FakeRemote
from clusterwright.errors import WrightError
from clusterwright.onhost.provision.change import Verb
from clusterwright.provision.action import Action
from clusterwright.provision.report import Change, ChangeReport, HostReport, Timing
from clusterwright.provision.rollback import Listed, Undoable

CLUSTER = load_cluster(Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml")
CHANGE = Change("file:/etc/x", "rewrite", "--- /etc/x\n+++ /etc/x\n-a\n+b", Cost.RESTART, (Verb.REWRITE,))


def action(name, verb=Verb.CREATE, cost=Cost.LIVE):
    """One change on two hosts."""
    return Action(id=name, summary=verb.value, verbs=(verb,), hosts="a[1-2]", cost=cost)


def test_many_new_files_of_one_folder_are_one_line():
    """Fifty modules are not fifty lines; a few files are named."""
    many = [action(f"file:/opt/lib/{index}.py") for index in range(9)]

    assert plan_lines([*many, action("file:/etc/x")]) == [
        "a[1-2]: file:/opt/lib/: 9 files: create",
        "a[1-2]: file:/etc/x: create",
    ]


def test_a_cost_is_shown_when_it_is_one():
    """Live is the rule."""
    assert plan_lines([action("unit:slurmd.service", Verb.RESTART, Cost.RESTART)]) == [
        "a[1-2]: unit:slurmd.service: restart  [restart]"
    ]


def test_without_a_terminal_nothing_is_agreed_to(monkeypatch, tmp_path):
    """The flag to pass is named, and the plan was shown."""
    with (tmp_path / "in").open("w+") as no_terminal:
        monkeypatch.setattr(sys, "stdin", no_terminal)  # the process's own stdin is the seam
        with pytest.raises(WrightError, match="pass --yes") as error:
            Asking(yes=False, quiet=True)(ChangeReport((HostReport("a1", (CHANGE,)),), dry=True))

    assert error.value.exit_code == 2


def test_where_the_time_went_is_shown_only_when_asked(capsys):
    """A row for each step that took a moment, as a table and in the JSON."""
    times = (
        Timing("check", "connect", 0.123),
        Timing("apply", "start units", 1.5),
        Timing("apply", "facts", 0.001),
    )
    report = ChangeReport((HostReport("a1", timings=times),), dry=False, seconds=2.0)
    show(report, "wright apply c", next_command="", plan_displayed=True, json=False, timings=True)
    table = capsys.readouterr().out
    show(report, "wright apply c", next_command="", plan_displayed=True, json=False)
    without = capsys.readouterr().out
    show(report, "wright apply c", next_command="", plan_displayed=True, json=True, timings=True)
    (host,) = json.loads(capsys.readouterr().out)["hosts"]

    rows = [line.split() for line in table.splitlines()]
    assert rows == [
        ["host", "phase", "step", "seconds"], ["a1", "check", "connect", "0.12"],
        ["a1", "apply", "start", "units", "1.50"],
    ]  # fmt: skip
    assert without == ""
    assert host["timings"][1] == {"phase": "apply", "step": "start units", "seconds": 1.5}


def test_the_outcome_names_what_failed_and_what_is_next(capsys):
    """Unreachable hosts are folded; the counts are of what was done."""
    down = [HostReport(name, reached=False, error=f"ssh: {name}: timed out") for name in ("a1", "a2")]
    done = HostReport("a3", (Change("file:/etc/x", "rewrite", "", Cost.LIVE, (Verb.REWRITE,), applied=True),))
    show(
        ChangeReport((*down, done), dry=False, seconds=1.0),
        "wright apply c",
        next_command="",
        plan_displayed=True,
        json=False,
    )

    said = capsys.readouterr().err.splitlines()
    assert said[0] == "unreachable: a[1-2]: ssh: a1: timed out"
    assert said[1] == "changes: 1; restarts: 0; hosts: 1 of 3; time: 1 s"
    assert said[2].startswith("next: fix")


def test_after_a_failed_dry_run_the_next_is_a_dry_run(capsys):
    """Who wanted no change gets no command to copy that changes hosts."""
    report = ChangeReport((HostReport("a1", reached=False, error="ssh: a1: timed out"),), dry=True)
    show(report, "wright apply c", next_command="", plan_displayed=True, json=False)

    assert capsys.readouterr().err.endswith("then run: wright apply c --dry-run\n")


def test_hosts_that_were_left_out_are_named_and_pending(capsys):
    """Nothing failed: exit code 3 for those who ask, and the same command is what is next."""
    change = Change("file:/etc/x", "rewrite", "", Cost.DRAIN, (Verb.REWRITE,))
    left = [HostReport(name, (change,), left_out="jobs run there: pass --drain") for name in ("a1", "a2")]
    report = ChangeReport(tuple(left), dry=False)
    show(report, "wright apply c", next_command="", plan_displayed=True, json=False)

    said = capsys.readouterr().err.splitlines()
    assert said[0] == "skipped: a[1-2]: jobs run there: pass --drain"
    assert said[-1] == "next: wright apply c"
    assert (exit_of(report, exit_code=True), exit_of(report, exit_code=False)) == (3, 0)


@pytest.mark.parametrize(
    ("report", "code"),
    [
        (ChangeReport((HostReport("a1", error="no"),), dry=False), 1),
        (ChangeReport((HostReport("a1", reached=False, error="no"),), dry=True), 1),
        (ChangeReport((HostReport("a1", (CHANGE,)),), dry=True), 3),
        (ChangeReport((HostReport("a1", (CHANGE,)),), dry=False), 0),
        (ChangeReport((HostReport("a1"),), dry=True), 0),
    ],
)
def test_exit_codes(report, code):
    """Failed, pending where that was asked for, done."""
    assert exit_of(report, exit_code=True) == code


def test_a_time_without_a_unit_is_refused():
    """Slurm would read minutes, others seconds."""
    with pytest.raises(WrightError, match="--wait") as error:
        read_disruption_policy(
            DisruptionOptions(drain=True, wait="90"), CLUSTER, FakeRemote(lambda *_asked: "")
        )

    assert error.value.exit_code == 2


def test_leave_to_reboot_is_leave_to_drain_and_brings_the_checks_of_a_boot():
    """What is wrong with a host that is back is said by host; hosts that cannot be asked are not well."""
    remote = FakeRemote(lambda *_asked: "", down=frozenset({"gpu-node1", "control"}))
    given = read_disruption_policy(DisruptionOptions(reboot=True), CLUSTER, remote)
    wrong = given.health_check(("gpu-node1",))

    assert (
        given.empties,
        given.reboot,
        read_disruption_policy(DisruptionOptions(), CLUSTER, remote).empties,
    ) == (True, True, False)
    assert list(wrong) == ["gpu-node1"]
    assert wrong["gpu-node1"].startswith("after the reboot: ")


def test_what_is_done_with_hosts_is_said_before_it_is_asked(capsys):
    """Rebooted ones apart from those that are only drained; those that are left out are no part of it."""
    boots = Change("package:driver", "1 -> 2", "", Cost.REBOOT, (Verb.UPGRADE,))
    report = ChangeReport(
        (
            HostReport("a", (boots,)), HostReport("b", (replace(boots, cost=Cost.DRAIN),)),
            HostReport("c", (boots,), left_out="busy"), HostReport("d", owes=("package:driver",)),
        ),
        dry=True,
    )  # fmt: skip
    Asking(yes=True, quiet=False, disruption=DisruptionOptions(reboot=True))(report)
    said = capsys.readouterr().err

    assert "note: a,d: drained, changed, rebooted, checked and resumed" in said
    assert "note: b: drained, changed and resumed" in said
    assert "note: d: a reboot is pending for package:driver" in said


def test_applies_that_can_be_undone_are_listed(capsys):
    """The newest first, rollbacks as such; a host that did not say makes it a failure."""
    rows = (Undoable("20260102-000000", "c.yaml", "a[1-2]", 7, to="20260101-000000"),)
    code = show_undoable(Listed(rows, (HostReport("a3", reached=False, error="timed out"),)), json=False)

    out, err = capsys.readouterr()
    assert "20260102-000000\trollback to before 20260101-000000\ta[1-2]\t7\n" in out
    assert (code, err) == (1, "unreachable: a3: timed out\n")


def test_the_plan_begins_with_what_it_costs(capsys):
    """Hosts, changes, restarts and the jobs that are affected, before the list of changes."""
    restart = Change("unit:slurmd.service", "restart", "", Cost.RESTART, (Verb.RESTART,))
    drain = Change("package:driver", "1 -> 2", "", Cost.DRAIN, (Verb.UPGRADE,))
    quiet = ChangeReport((HostReport("a1", (CHANGE, restart)), HostReport("a2", (restart,))), dry=True)
    busy = ChangeReport((HostReport("a1", (drain,), job_steps=1),), dry=True)

    show_plan(quiet)
    assert capsys.readouterr().err.splitlines()[0] == "2 hosts, 3 changes, 2 restarts, no job affected"
    show_plan(busy)
    assert capsys.readouterr().err.splitlines()[0] == "1 host, 1 change, jobs on a1 are affected"


def test_long_differences_are_counted(capsys):
    """The changes stay in view; --diff shows all lines."""
    long = Change("file:/etc/x", "rewrite", "--- x\n+++ x\n" + "+line\n" * 41, Cost.LIVE, (Verb.REWRITE,))
    report = ChangeReport((HostReport("a1", (long,)),), dry=True)
    show_plan(report, 40)
    folded = capsys.readouterr()
    show_plan(report, None)

    assert folded.out == "a1: file:/etc/x: rewrite\n"
    assert "note: 41 lines of differences are not shown; --diff shows them" in folded.err
    assert capsys.readouterr().out.count("    +line\n") == 41
