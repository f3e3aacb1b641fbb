"""The demo without a lab, for real: ranks of this machine, one killed, nothing left."""

import json
import signal
import subprocess
import sys
import time

import pytest

from clusterwright.config.job import Job
from clusterwright.lab.demo import local_machine
from clusterwright.lab.demo.runner import demo

pytestmark = [
    pytest.mark.train,
    # a run outlives the command that began it, so nobody waits for its process
    pytest.mark.filterwarnings("ignore:Exception ignored in. <function Popen.__del__"),
]


@pytest.fixture
def job():
    """A training of some ten seconds."""
    return Job.model_validate(
        {
            "name": "small", "recipe": "gpt", "arguments": {"steps": 80, "text_bytes": 60000}, "nodes": 2,
            "gpus_per_node": 1, "time": "10m", "user": "alice",
            "checkpoint": {"every": "10 steps", "save_total_limit": 3},
        }
    )  # fmt: skip


def test_a_killed_rank_changes_no_bit_of_the_training(job, tmp_path):
    """The whole demo on one machine, and every claim of its report."""
    said = []

    made = demo(tmp_path, local=True, job=job, write=said.append)
    assert made.problems == ()
    document = json.loads((tmp_path / "report.json").read_text())
    assert (document["mode"], document["ok"], document["steps_total"]) == ("local", True, 80)
    assert document["losses_equal_bitwise"] is True
    assert document["losses_hex"]["with_fault"] == document["losses_hex"]["uninterrupted"]
    assert 0 < document["steps_repeated"] <= 10
    assert document["fault"].items() >= {"kind": "kill-rank", "rank": 1}.items()
    assert document["recovery"]["seconds"] == pytest.approx(
        sum(p["seconds"] for p in document["recovery"]["parts"])
    )
    assert document["left_behind"] == []
    assert document["not_applicable"]["lab"] == "Requested with --local."
    assert "A rank died after step" in (tmp_path / "report.html").read_text()
    assert any("kill -9" in line for line in said)


def test_an_interrupted_demo_leaves_nothing_and_still_reports(tmp_path):
    """Ctrl-C, as a person would press it."""
    argv = [
        sys.executable,
        "-c",
        "from clusterwright.cli import main; main()",
        "demo",
        "--local",
        "--out",
        tmp_path,
    ]
    process = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)
    while not any((tmp_path / "runs").glob("*/logs/1/*")):
        assert process.poll() is None
        time.sleep(0.1)

    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=150)
    assert (process.returncode, "failed: interrupted" in said) == (1, True), said
    document = json.loads((tmp_path / "report.json").read_text())
    assert (document["ok"], document["problems"], document["left_behind"]) == (False, ["interrupted"], [])
    (run,) = (tmp_path / "runs").iterdir()
    assert local_machine.processes("CLUSTERWRIGHT_RUN", str(run)) == {}
    assert (run / "cancelled").exists()


def test_a_job_that_cannot_start_is_a_report_with_the_reason(job, tmp_path):
    """Exit 1, the reason, and a page."""
    arguments = {"steps": 80, "text": str(tmp_path / "nothing")}
    never = job.recovery.model_copy(update={"restarts": 0})
    wrong = job.model_copy(update={"arguments": arguments, "recovery": never})

    made = demo(tmp_path, local=True, job=wrong, write=lambda _: None)
    assert not made.ok
    assert "the run ended: failed" in made.problems[0]
    assert made.left_behind == ()
    assert (tmp_path / "report.html").exists()
