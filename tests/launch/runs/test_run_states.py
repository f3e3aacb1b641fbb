"""The state of a run is the same in every command, on every page and in every metric."""

import json
import os
import sys
import time

import pytest

from clusterwright.diagnose.gather.ended import Gathered
from clusterwright.launch.events import LocalReader, ended
from clusterwright.launch.listing import rows
from clusterwright.launch.run import RunFolder
from clusterwright.monitor.records.record import AccountingRecord
from clusterwright.monitor.report.job import report
from clusterwright.monitor.report.job_facts import facts
from clusterwright.onhost.evidence import texts
from clusterwright.onhost.exporter.collectors.control_host import runs as exporter
from clusterwright.onhost.lib.run_outcome import EXIT_CODES, RunEvidence, decide
from clusterwright.onhost.runs import run_folders, run_jobs, run_progress, run_status
from clusterwright.onhost.runs.run_state import slurm_job
from clusterwright.onhost.snapshot import active_runs, history

NOW = time.time()
LASTED_S = 240
# Prints the rows of a table in the requested format, as squeue and sacct do; only squeue fails if it has none, or if
# one of the numbers cannot be a job's.
PROGRAM = """#!{python}
import json, sys
rows = json.load(open({table!r}))
options = dict(argument.split("=", 1) for argument in sys.argv[1:] if "=" in argument)
columns = options["--format"].replace("|", ",").split(",")
jobs = options["--jobs"].split(",") if "--jobs" in options else [row["%i"] for row in rows]
found = [row for row in rows if row["%i"] in jobs]
for job in jobs if "squeue" in sys.argv[0] else ():
    if not 0 < int(job.partition("_")[0].partition("+")[0]) < 2**31:
        sys.exit("squeue: error: Invalid job id: " + job)
for row in found:
    print("|".join(row[column] for column in columns))
if not found and "squeue" in sys.argv[0]:
    sys.exit("slurm_load_jobs error: Invalid job id specified")
"""
# By run: state, heartbeat age, content of ended.json, last event of its supervisor, rows of squeue and of sacct.
CASES = {
    "finished": ("finished", 100, {"outcome": "finished"}, {"outcome": "finished"}, [], ["COMPLETED"]),
    "failed": ("failed", 100, {"outcome": "failed"}, {"outcome": "failed"}, [], ["FAILED"]),
    "canceled": ("cancelled", 100, {"outcome": "cancelled"}, {"outcome": "cancelled"}, [], ["FAILED"]),
    "scancel": ("cancelled", 100, None, None, [], ["CANCELLED by 1000"]),
    "scancel-soon": ("cancelled", 100, None, None, ["CANCELLED"], []),
    "requeued": ("queued", 100, None, None, ["PENDING"], ["NODE_FAIL"]),
    "host-lost": ("host-lost", 100, None, None, [], ["NODE_FAIL"]),
    "timeout": ("time-limit", 100, None, None, [], ["TIMEOUT"]),
    "preempted": ("preempted", 100, None, None, [], ["PREEMPTED"]),
    "running": ("running", 0, None, None, ["RUNNING"], ["RUNNING"]),
    "starting": ("starting", None, None, None, ["RUNNING"], ["RUNNING"]),
    "silent": ("silent", 100, None, None, ["RUNNING"], ["RUNNING"]),
    "again": ("queued", None, None, {"outcome": "failed"}, ["PENDING"], []),
    "torn": ("failed", 100, "torn", {"outcome": "failed"}, [], ["FAILED"]),
    "gone": ("gone", 100, None, None, [], []),
    "no-progress": ("no-progress", 0, {"outcome": "no-progress"}, None, [], ["FAILED"]),
}


def slurm_rows(name, number, states):
    """The rows of one program about the job of a run."""
    ids = dict.fromkeys(("%i", "%A", "%F", "JobID", "JobIDRaw"), str(number))
    job = {**ids, "%j": name, "JobName": name}
    user = {"%U": str(os.getuid()), "UID": str(os.getuid()), "%r": "None", "Reason": "None"}
    end = {"%e": f"{NOW:.0f}", "End": f"{NOW:.0f}"}
    return [job | user | end | {"%T": state, "State": state} for state in states]


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A folder of all runs, and programs of Slurm with their records."""
    (tmp_path / "bin").mkdir()
    tables = {"squeue": [], "sacct": []}
    for number, (name, (_, age_s, end, job_end, queue, accounting)) in enumerate(CASES.items(), 1):
        run = tmp_path / "runs" / name
        (run / "events").mkdir(parents=True)
        (run / "job.json").write_text(json.dumps({"submitted": NOW - LASTED_S}))
        (run / "jobs").write_text(f"{number}\n")
        start = {
            "event": "job_start",
            "time": NOW - LASTED_S,
            "job_id": str(number),
            "hosts": ["a"],
            "ranks": 1,
        }
        last = [{"event": "job_end", "time": NOW, **job_end}] if job_end else []
        lines = [json.dumps({"host": "a", "generation": 0, **event}) for event in (start, *last)]
        (run / "events" / "supervisor-1.jsonl").write_text("\n".join([*lines, '{"event": "job_st']))
        if end:
            (run / "ended.json").write_text('{"outcome": "fin' if end == "torn" else json.dumps(end))
        if age_s is not None:
            (run / "pulse").touch()
            os.utime(run / "pulse", (time.time() - age_s,) * 2)
        tables["squeue"] += slurm_rows(name, number, queue)
        tables["sacct"] += slurm_rows(name, number, accounting)
    for program, table in tables.items():
        path = tmp_path / f"{program}.json"
        path.write_text(json.dumps(table))
        (tmp_path / "bin" / program).write_text(PROGRAM.format(python=sys.executable, table=str(path)))
        (tmp_path / "bin" / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return tmp_path / "runs"


def expected():
    """The state of each run."""
    return {name: case[0] for name, case in CASES.items()}


def report_facts(run):
    """The facts of a run's report, whose job Slurm has as FAILED after its last start 49 s before."""
    record = AccountingRecord("1", name=run.name, state="FAILED", start=NOW - 49, end=NOW, elapsed_s=49.0)
    return facts([record], [], {}, history.run_of({"silent": {}}, str(run)), now=NOW)


def test_jobs_shows_the_state_of_each_run(runs):
    """Runs whose job is not in the queue, with what Slurm's accounting has."""
    listed = {row.run: row.state for row in rows((), run_jobs.list_runs(str(runs)))}

    assert listed == {name: state for name, state in expected().items() if name in listed}
    assert {"canceled", "scancel", "timeout", "preempted", "host-lost", "torn", "gone"} <= set(listed)


@pytest.mark.parametrize("number", ["0", "2147483648", "00", "0_1", "4294967297+0"])
def test_numbers_that_squeue_refuses_in_one_run_hide_no_job_of_others(runs, number):
    """All runs whose state is unclear are in one query, and its owner can write any number into a run."""
    (runs / "gone" / "jobs").write_text(number)
    listed = {row["run"]: row["state"] for row in run_jobs.list_runs(str(runs))}

    assert {name: listed[name] for name in ("requeued", "again", "silent", "starting")} == {
        name: expected()[name] for name in ("requeued", "again", "silent", "starting")
    }


@pytest.mark.skipif(os.geteuid() != 0, reason="folders of two users need root")
@pytest.mark.parametrize("uids", [[2], range(7_000_000, 7_000_020)])
def test_thousands_of_job_ids_in_the_runs_of_one_user_hide_no_job_of_others(runs, uids):
    """One query has room for some; each owner has an equal number, and of an owner each run."""
    for uid in uids:
        run = runs / f"eve-{uid}"
        run.mkdir()
        (run / "job.json").write_text("{}")
        (run / "jobs").write_text("\n".join(str(1_000_000 + uid + number) for number in range(2_000)))
        for path in (run, run / "job.json"):
            os.chown(path, uid, uid)
    array = [str(3_000_000 + number) for number in range(2_000)]
    (runs / "silent" / "jobs").write_text("\n".join([*array, (runs / "silent" / "jobs").read_text()]))
    listed = {row["run"]: row["state"] for row in run_jobs.list_runs(str(runs))}

    assert {name: listed[name] for name in ("requeued", "again", "silent", "starting")} == {
        name: expected()[name] for name in ("requeued", "again", "silent", "starting")
    }


def test_a_run_of_whose_jobs_none_was_queried_is_unknown(runs, monkeypatch):
    """Not `gone`."""
    monkeypatch.setattr(run_jobs.run_state, "MOST_JOBS", 1)
    rows_of_runs = [row for row in run_jobs.list_runs(str(runs)) if row["state"] == "unknown"]

    assert rows_of_runs
    assert {row["reason"] for row in rows_of_runs} == {run_jobs.NOT_QUERIED}


def test_a_refused_query_is_no_answer(runs, monkeypatch):
    """It says nothing about the other jobs of the query."""
    monkeypatch.setattr(run_folders, "is_job", lambda _: True)
    (runs.parent / "bin" / "sacct").write_text("#!/bin/sh\nexit 1\n")
    (runs / "requeued" / "jobs").write_text("6\n0")

    assert run_progress.read_progress(str(runs / "requeued"))["state"] == "unknown"


def test_status_and_logs_show_the_same(runs):
    """The document of `wright status` and the progress line of `wright logs`."""
    statuses = {name: run_status.status(str(runs / name)) for name in CASES}

    assert {name: document["state"] for name, document in statuses.items()} == expected()
    assert {name: run_progress.read_progress(str(runs / name))["state"] for name in CASES} == expected()
    assert {name: document["code"] for name, document in statuses.items()} == {
        name: EXIT_CODES.get(state) for name, state in expected().items()
    }


def test_report_shows_the_same_and_the_time_of_the_whole_run(runs):
    """Slurm's record of a canceled run is FAILED and begins at its last requeue."""
    found = {name: report_facts(runs / name) for name in CASES}

    assert {name: one.state for name, one in found.items()} == expected()
    assert found["canceled"].run_s == pytest.approx(LASTED_S, abs=1)
    assert found["scancel"].run_s == pytest.approx(LASTED_S, abs=1)
    rows_of_job = dict(report(found["canceled"], "lab").parts[0].rows)
    assert (rows_of_job["State"], rows_of_job["State in Slurm"]) == ("cancelled", "FAILED")


def test_why_shows_the_same(runs):
    """What the program on the control host answers, and what counts as no failure."""
    states = {name: texts.of_run(str(runs / name))["state"][0] for name in CASES}

    assert states == expected()
    fine = {name for name, state in states.items() if Gathered((), "FAILED", run_state=state).is_fine}
    assert fine == {"finished", "canceled", "scancel", "scancel-soon", "running", "starting"}


def test_top_and_the_web_page_show_the_same_of_runs_whose_jobs_run(runs):
    """They have only these, and the recorded outcome of a run that has just ended."""
    names = ("running", "starting", "silent", "finished", "failed", "canceled", "torn", "no-progress")

    assert {name: active_runs.about(str(runs / name))["state"] for name in names} == {
        name: expected()[name] for name in names
    }


def test_the_exporter_counts_the_same_runs_as_running(runs):
    """A heartbeat of the last minute and no outcome."""
    settings = type("Settings", (), {"runs": str(runs)})
    families = {family.name: family for family in exporter.collect(settings, {})}
    samples = families["clusterwright_run_running"].samples
    found = {labels["run"]: value for labels, value in samples}

    assert {name for name, value in found.items() if value} == {"running"}


def test_a_wait_for_the_end_sees_the_recorded_outcome(runs):
    """The demo and campaigns wait for it."""
    reader = LocalReader()
    found = {name: ended(RunFolder(name, "1", str(runs / name)), reader) for name in CASES}

    assert {name: end.outcome for name, end in found.items() if end} == {
        name: expected()[name] for name in ("finished", "failed", "canceled", "no-progress")
    }


def test_without_slurm_the_state_is_unknown_and_says_so():
    """Not `gone`: nobody has asked Slurm."""
    state = decide(RunEvidence(heartbeat_age_s=60.0))

    assert state[:2] == (
        "unknown",
        "last heartbeat of its supervisor 60 s ago; Slurm does not respond on this host",
    )


def test_a_canceled_standby_job_is_not_why_a_run_ended():
    """The supervisor cancels it when the run ends; the job that ran decides."""
    jobs = (slurm_job("8", "TIMEOUT"), slurm_job("9", "CANCELLED by 0"))

    assert decide(RunEvidence(heartbeat_age_s=60.0, jobs=jobs)).state == "time-limit"
    assert decide(RunEvidence(heartbeat_age_s=60.0, jobs=jobs[1:])).state == "cancelled"


@pytest.mark.parametrize("outcome", [7, None, ["finished"], "perfect", "handed-over"])
def test_an_outcome_that_no_supervisor_writes_decides_nothing(outcome):
    """The owner of a run can write anything into its folder."""
    evidence = RunEvidence({"outcome": outcome}, is_end_written=True, heartbeat_age_s=1.0, jobs=())

    assert decide(evidence).state == "gone"


def test_a_run_that_was_handed_over_to_nobody_is_gone():
    """Its job completed, but the job that should continue it does not exist."""
    jobs = (slurm_job("8", "COMPLETED"),)
    handed = RunEvidence(job_end={"outcome": "handed-over"}, heartbeat_age_s=60.0, jobs=jobs)

    assert decide(handed).state == "gone"
    assert decide(handed._replace(job_end={})).state == "finished"
