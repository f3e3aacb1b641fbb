"""Runs that others may not read: for root they are as open as ever, for other users absent without an error."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from clusterwright.edge.bundler import HISTORY, RUN_TEXTS, RUNS, bundle_script

ALICE, STRANGER, NAME = 48_101, 48_103, "gpt-20261121-100000"
# The rights of root on a file server that squashes root, and those of the exporter's unit.
SQUASHED = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
EXPORTER = ("setpriv", "--bounding-set=-all,+dac_read_search,+sys_ptrace")
COLLECT = """
import sys
from clusterwright.onhost.exporter.collectors.control_host import runs
settings = type("Settings", (), {"runs": sys.argv[1]})
print([vars(family) for family in runs.collect(settings, {})])
"""
REQUEST = {
    "job": "", "begin": 0, "end": 2**33, "mark": "|", "limit_s": 1, "accounting": True, "fields": ["JobID"],
    "queries": {}, "prometheus": "http://127.0.0.1:1",
}  # fmt: skip
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user"),
    pytest.mark.timeout(60),
]


@pytest.fixture
def runs():
    """The folder of runs with one of Alice's, `share: me`, which has ended."""
    root = Path(tempfile.mkdtemp(prefix="cw-share-", dir="/tmp"))
    root.chmod(0o755)
    run = root / "runs" / NAME
    for folder in ("events", "logs/1/gpu-1", "chain", "checkpoints"):
        (run / folder).mkdir(parents=True)
    step = {"time": time.time(), "event": "step", "step": 2, "generation": 1}
    for name, text in {
        "job.json": '{"local": true}', "jobs": "7\n", "slurm-7.out": "RuntimeError: lost\n",
        "logs/1/gpu-1/0.out": "x\n", "events/rank-00000.jsonl": json.dumps(step) + "\n",
        "ended.json": '{"outcome": "finished", "code": 0, "reason": "all ranks ended"}',
    }.items():  # fmt: skip
        (run / name).write_text(text)
    for path in (run, *run.rglob("*")):
        os.chown(path, ALICE, ALICE)
        path.chmod(0o700 if path.is_dir() else 0o600)
    yield root / "runs"
    shutil.rmtree(root)


def done(program, *arguments, start=(), **account):
    """Return a program's exit code and output, as ssh gets them."""
    process = subprocess.run(
        [*start, "python3", "-", *map(str, arguments)], input=bundle_script(program), capture_output=True,
        timeout=50, check=False, cwd="/", env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, **account,
    )  # fmt: skip
    error = process.stderr.decode()
    assert "Traceback" not in error
    return process.returncode, process.stdout.decode(), error


@pytest.mark.parametrize("start", [(), SQUASHED], ids=["root", "root-squashed"])
def test_root_reads_them(runs, start):
    """`jobs`, `status` by name and by job, `logs`, `why` and the monthly report, with the owner's rights if need be."""
    code, out, _ = done(RUNS, "list", runs, start=start)
    assert (code, [(row["run"], row["step"], row["jobs"]) for row in json.loads(out)]) == (
        0,
        [(NAME, 2, ["7"])],
    )
    for reference in (NAME, "7", "last"):
        code, out, error = done(RUNS, "status", runs, reference, "text", start=start)
        assert (code, "finished" in out) == (0, True), error
    assert "lost" in done(RUNS, "logs", runs, NAME, "once", start=start)[1]
    texts = json.loads(done(RUN_TEXTS, runs, "7", "", 60, start=start)[1])["texts"]
    assert "RuntimeError: lost\n" in [row["text"] for row in texts]
    report = json.loads(done(HISTORY, json.dumps({**REQUEST, "runs": str(runs)}), start=start)[1])
    assert [row["run"] for row in report["runs"]] == [NAME]


def test_the_exporter_reads_them(runs):
    """With the two capabilities of its unit."""
    process = subprocess.run(
        [*EXPORTER, sys.executable, "-c", COLLECT, str(runs)], capture_output=True, text=True, check=False
    )

    assert process.returncode == 0, process.stderr
    assert f"'run': '{NAME}'" in process.stdout
    assert "run_unreadable" in process.stdout


def test_a_stranger_gets_no_traceback(runs):
    """Lists leave them out; a command about one names the reason."""
    stranger = {"user": STRANGER, "group": STRANGER, "extra_groups": []}
    code, out, _ = done(RUNS, "list", runs, **stranger)
    assert (code, json.loads(out)) == (0, [])
    for command in (("status", "text"), ("logs", "once"), ("curves",)):
        code, out, error = done(RUNS, command[0], runs, NAME, *command[1:], **stranger)
        assert (code, out) == (74, "")
        assert "does not share it" in error
    code, _, error = done(RUNS, "status", runs, "other", "text", **stranger)
    assert (code, error.strip()) == (69, f"no run `other` in {runs}")
    assert (
        json.loads(done(RUN_TEXTS, runs, NAME, "", 60, runs / NAME / "slurm-7.out", **stranger)[1])["texts"]
        == []
    )
    report = json.loads(done(HISTORY, json.dumps({**REQUEST, "runs": str(runs)}), **stranger)[1])
    assert report["runs"] == []
