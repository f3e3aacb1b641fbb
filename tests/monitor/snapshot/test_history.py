"""What is fetched on the control host: slurmctld's file, runs' folders; and what is in the way is said."""

import gzip
import json
import time
from pathlib import Path

import pytest

from clusterwright.config.load import load_cluster
from clusterwright.monitor.fetch import fetch
from clusterwright.monitor.records.sacct import FIELDS, SEPARATOR
from clusterwright.onhost.snapshot import history

LAB = Path(__file__).parents[3] / "examples" / "lab" / "cluster.yaml"
LINE = (
    "JobId={id} UserId=alice(6001) GroupId=alice(6001) Name={name} JobState=COMPLETED Partition=train TimeLimit=90"
    " StartTime={begin} EndTime={end} NodeList=gpu-node1 NodeCnt=1 ProcCnt=8 WorkDir=/ ReservationName="
    " Tres=cpu=8,node=1,gres/gpu=4 Account= QOS= WcKey= Cluster=lab SubmitTime={begin} EligibleTime={begin}"
    " DerivedExitCode=0:0 ExitCode=0:0 \n"
)
NOW = 1795400000.0


def line(name, end, number=1):
    """One hour that ended then, in the times of this machine's zone, as slurmctld writes them."""
    clock = [time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(at)) for at in (end - 3600, end)]
    return LINE.format(id=number, name=name, begin=clock[0], end=clock[1])


@pytest.fixture
def asked(tmp_path):
    """A question about the last day, of a cluster without accounting, with nothing there yet."""
    (tmp_path / "runs").mkdir()
    return {
        "job": "", "begin": NOW - 86400, "end": NOW, "fields": FIELDS, "mark": SEPARATOR, "limit_s": 5,
        "runs": str(tmp_path / "runs"), "prometheus": "http://127.0.0.1:1", "queries": {}, "accounting": False,
        "jobcomp": str(tmp_path / "jobcomp.log"),
    }  # fmt: skip


def fetched(asked):
    """The answer as it comes over the wire, read."""
    return fetch.fetched(json.loads(json.dumps(history.document(asked))), load_cluster(LAB))


def test_without_accounting_slurmctld_s_file_tells(asked, tmp_path):
    """Also what logrotate packed; jobs that ended before are left out, torn lines are said."""
    (tmp_path / "jobcomp.log").write_text("torn\n" + line("now", NOW - 60, 2))
    with gzip.open(tmp_path / "jobcomp.log.1.gz", "wt") as file:
        file.write(line("old", NOW - 2 * 86400) + line("yesterday", NOW - 7200))
    found = fetched(asked)

    assert sorted(each.name for each in found.records) == ["now", "yesterday"]
    assert {round(each.end) for each in found.records} == {NOW - 60, NOW - 7200}
    assert any("1 line of Slurm's records cannot be parsed" in why for why in found.missing)


def test_one_job_is_asked_by_its_number(asked, tmp_path):
    """However long ago it was."""
    (tmp_path / "jobcomp.log").write_text(line("a", NOW - 60, 1) + line("b", NOW - 9 * 86400, 12))
    found = fetched({**asked, "job": "12", "begin": 0.0})

    assert [each.name for each in found.records] == ["b"]


def test_what_does_not_answer_is_said(asked, monkeypatch):
    """No file, no squeue, no Prometheus, no sacct: each by name, and the answer is there all the same."""
    monkeypatch.setenv("PATH", "/nowhere")
    silent = history.document({**asked, "queries": {"x": "up"}})["silent"]

    assert silent["jobcomp"].endswith("jobcomp.log: No such file or directory")
    assert silent["queue"] == "squeue: No such file or directory"
    assert "prometheus" in silent
    assert "sacct" in history.document({**asked, "accounting": True})["silent"]


def run(folder, name, *events, **files):
    """A run's folder with these events."""
    made = folder / name
    (made / "events").mkdir(parents=True)
    (made / "job.json").write_text(
        json.dumps({"submitted": NOW - 100, "job": {"data": [{"path": "/d", "stage": "shared"}]}})
    )
    (made / "events" / "rank-00000.jsonl").write_text("".join(json.dumps(each) + "\n" for each in events))
    for key, text in files.items():
        (made / key.replace("_", ".")).write_text(text)
    return made


def events(steps=50, slow=True):
    """A run of two ranks on one host, one of which was slow."""
    common = {"host": "a", "generation": 1}
    yield {
        "time": NOW,
        "event": "job_start",
        "job_id": "7",
        "hosts": ["a"],
        "ranks": 2,
        "host": "a",
        "generation": 0,
    }
    yield {"time": NOW, "event": "generation_start", "hosts": ["a"], **common}
    for step in range(1, steps + 1):
        known = {
            "seconds": 1.0,
            "busy": float(step),
            "waited": 0.3 * step,
            "waited_most": 0.3 * step,
            "memory": 1000 + 50 * step,
            "communicated": 0.2 * step,
            "communicated_of": float(step),
        }
        yield {"time": NOW + step, "event": "step", "step": step, "rank": 0, **common, **known}
    if slow:
        told = {"ratio": 1.4, "own": 0.14, "typical": 0.1, "step": 9, "rank": 1}
        yield {"time": NOW + 9, "event": "straggler", **common, **told}


def test_a_run_tells_all_of_itself(asked, tmp_path):
    """Ledger, slow ranks, memory, what read, what its job asked."""
    run(tmp_path / "runs", "gpt-20261121-120000", *events(), jobs="7\n")
    found = fetched({**asked, "job": "7"}).run

    assert found["status"]["ledger"]["gpu_s"]["step"] > 0
    assert found["slow"][0][:3] == [1, "a", 1.4]
    assert found["reading"]["share"] == pytest.approx(0.3)
    assert found["communication"]["share"] == pytest.approx(0.2)
    assert found["communication"]["hosts"] == 1
    assert len(found["memory"]) > 8
    assert found["record"]["data"] == [{"path": "/d", "stage": "shared"}]


@pytest.mark.parametrize(
    "cut",
    [
        b"",
        b'{"time": 1, "ev',
        b"\x00" * 9999,
        b'{"time": "x", "event": 3}\n' * 50,
        b"[]\n" * 99,
        b'{"a":' * 2000,
    ],
)
def test_events_that_are_cut_or_none(asked, tmp_path, cut):
    """The rest of the run is told, and Slurm's part anyway."""
    made = run(tmp_path / "runs", "gpt-20261121-120000", *events(slow=False), jobs="7\n")
    with (made / "events" / "rank-00001.jsonl").open("wb") as file:
        file.write(cut)
    found = fetched({**asked, "job": "7"})

    assert found.run["status"]["step"] == 50


def test_a_damaged_run_is_said(asked, tmp_path):
    """Its events contradict what they ought to be: said, and not a traceback."""
    run(
        tmp_path / "runs",
        "gpt-20261121-120000",
        {"time": 1, "event": "job_start", "ranks": "many"},
        jobs="7\n",
    )
    found = fetched({**asked, "job": "7"})

    assert found.run == {}
    assert any(
        "run's folder could not be read: gpt-20261121-120000: ValueError" in why for why in found.missing
    )


def test_a_huge_file_of_events_is_read_in_parts(asked, tmp_path):
    """Twenty megabytes: the answer stays small."""
    made = run(tmp_path / "runs", "gpt-20261121-120000", *events(2), jobs="7\n")
    with (made / "events" / "rank-00000.jsonl").open("a") as file:
        for block in range(40):
            rows = (
                {"time": NOW + 3 + (5000 * block + n) / 100, "event": "step", "step": 3 + 5000 * block + n, "rank": 0,
                 "seconds": 0.01, "busy": 2 + (5000 * block + n) / 100, "host": "a", "generation": 1}
                for n in range(5000)
            )  # fmt: skip
            file.write("".join(json.dumps(row) + "\n" for row in rows))
    document = history.document({**asked, "job": "7"})

    assert document["run"]["status"]["step"] == 200002
    assert len(json.dumps(document)) < 200_000


def test_runs_of_a_month(asked, tmp_path):
    """Those that ended have their ledger; those that go on are worked out; older ones are left out."""
    ended = {
        "gpu_s": {"step": 5.0},
        "failures": [{"reason": "hung", "time": NOW - 5}, {"reason": "old", "time": 1.0}],
    }
    run(tmp_path / "runs", "a-20261121-120000", *events(5), jobs="7\n", ledger_json=json.dumps(ended))
    run(tmp_path / "runs", "b-20261121-120000", *events(5, slow=False), jobs="8\n")
    found = {
        each["run"][0]: each
        for each in fetched(asked | {"begin": time.time() - 3600, "end": time.time()}).runs
    }

    assert found["a"]["gpu_s"] == {"step": 5.0}
    assert found["b"]["gpu_s"]["step"] == pytest.approx(10.0)  # it was not heard since
    assert fetched(asked | {"begin": time.time() + 3600, "end": time.time() + 7200}).runs == ()


def test_it_runs_with_python_3_8_s_words(asked):
    """It is sent as one script, which runs by itself."""
    import subprocess
    import sys

    from clusterwright.edge.bundler import HISTORY, bundle_script

    done = subprocess.run(
        [sys.executable, "-I", "-", json.dumps(asked)],
        input=bundle_script(HISTORY),
        capture_output=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["schema"] == 1
