"""One user's run folder is hostile: no program that reads it for root stops, and none reveals what root can read."""

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
from clusterwright.onhost.exporter.collectors.control_host import runs as exported_runs
from clusterwright.onhost.lib.safe_reader import OUTPUT_BYTES, parse_document
from clusterwright.onhost.snapshot import active_runs

ALICE, MALLORY = 48_101, 48_102
SECRET = "secret-of-root"  # pragma: allowlist secret
CROWD, GOOD, BAD = 5_000, "gpt-20261121-100000", "bad-20261122-100000"
FILES = (
    "jobs", "ended.json", "ledger.json", "pulse", "cancelled", "slurm-7.out", "job.out", "events/rank-00000.jsonl",
    "events/supervisor-1.jsonl", "logs/1/gpu-1/0.out", "logs/1/gpu-1/nccl-0", "chain/1", "checkpoints/verified.jsonl",
    "checkpoints/step-00000010/manifest.json",
)  # fmt: skip
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root reads the runs of all users"),
    pytest.mark.timeout(240),
]


def write_run(run, secret):
    """A run of two steps that was saved and has ended."""
    for folder in ("events", "logs/1/gpu-1", "chain", "checkpoints/step-00000010"):
        (run / folder).mkdir(parents=True)
    (run / "job.json").write_text('{"local": true}')
    for name in FILES:
        (run / name).write_text("{}")
    for name in ("jobs", "chain/1"):
        (run / name).write_text("7\n")
    events = [{"time": time.time(), "event": "step", "step": step, "generation": 1} for step in (1, 2)]
    (run / "events/rank-00000.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    (run / "ended.json").write_text('{"outcome": "finished", "code": 0, "reason": "all ranks ended"}')


def pipes(run, secret):
    """Whoever opens one waits for a writer."""
    for name in FILES:
        (run / name).unlink()
        os.mkfifo(run / name)


def endless(run, secret):
    """Links to what never ends."""
    for name in FILES:
        (run / name).unlink()
        (run / name).symlink_to("/dev/zero")


def secrets(run, secret):
    """Links to a file that only root can read."""
    for name in FILES:
        (run / name).unlink()
        (run / name).symlink_to(secret)


def secret_folders(run, secret):
    """Links to a folder that only root can read, in place of each folder."""
    for name in ("events", "logs", "chain", "checkpoints"):
        shutil.rmtree(run / name)
        (run / name).symlink_to(secret.parent)


def circles(run, secret):
    """Links that lead back, two in each folder: 2^40 paths."""
    for folder in (run, run / "logs", run / "logs/1", run / "logs/1/gpu-1", run / "checkpoints"):
        (folder / "a").symlink_to(run)
        (folder / "b").symlink_to("..")
    partial = run / "checkpoints/.partial-generation-1-x"
    partial.mkdir()
    (partial / "a").symlink_to(".")


def huge(run, secret):
    """Sparse files cost their writer nothing."""
    for name in FILES:
        with (run / name).open("wb") as file:
            file.truncate(1 << 40)


def crowded(run, secret):
    """Many names where few are expected, of which each is read."""
    for folder, name in (("events", "rank-{}.jsonl"), ("chain", "{}"), ("checkpoints", "step-{:08}")):
        for number in range(CROWD):
            os.close(os.open(run / folder / name.format(number + 100), os.O_CREAT))
    for number in range(CROWD):
        (run / "logs" / str(number + 100)).mkdir()


def bulky(run, secret):
    """What is printed of it would be more than a program may print, and what is computed takes hours."""
    emoji = "\N{GRINNING FACE}" * (1 << 20)
    (run / "ended.json").write_text(json.dumps({"outcome": emoji[:-99], "reason": ""}, ensure_ascii=False))
    (run / "ledger.json").write_text('{"gpu_s": {"step": 1}, "failures": []}')
    (run / "jobs").write_text("1 " * (8 << 20))
    start = json.dumps({"time": 1.0, "event": "generation_start", "generation": 1, "hosts": ["h"]})
    slow = '{"time": 2.0, "event": "straggler", "rank": %d}\n'
    (run / "events/supervisor-1.jsonl").write_text(
        '{"time": 1.0, "event": "job_start"}\n'
        + f"{start}\n" * 19_000
        + "".join(slow % rank for rank in range(20_000))
    )
    (run / "pulse").write_text("{}")


def nonsense(run, secret):
    """Valid JSON of other types, deep nesting, numbers without end, names that are no number."""
    values = ["[]", "[" * 60_000, '{"job": [], "outcome": {}, "code": "x", "failures": 3}']
    for number, name in enumerate(FILES):
        (run / name).write_text(values[number % len(values)])
    event = (
        '{"event": "step", "time": 1, "generation": 1, "step": %s, "loss": "x", "seconds": [], "busy": {}}\n'
    )
    steps = ("1e400", '"x"', "[1]", "null", "-5", "9" * 4000, str(10**15), "{}")
    (run / "events/rank-00000.jsonl").write_text("".join(event % step for step in steps))
    (run / "job.json").write_text('{"job": [1], "submitted": "x", "price": 3}')
    (run / "chain/²").write_text("8")
    (run / "logs/²").mkdir()
    os.mkdir(os.fsencode(run) + b"/logs/\xff\xfe")


def beyond(run, secret):
    """What one Python reads and another one, or a caller with more frames, refuses: deep JSON, long numbers."""
    for name in ("logs", "checkpoints/step-"):
        (run / (name + "/" * (name == "logs") + "9" * 60)).mkdir()
    event = {"event": "step", "time": 3, "step": int("9" * 39), "generation": 1, "loss": 1e300, "mfu": 10**39}
    for depth in (20, 31, 60, 900):
        nested = json.loads("[" * depth + "]" * depth)
        with (run / "events/rank-00000.jsonl").open("a") as file:
            file.write(json.dumps({**event, "loss": nested, "step": depth}) + "\n")
    (run / "ended.json").write_text(
        json.dumps({"x": json.loads("[" * 900 + "]" * 900), "outcome": "finished"})
    )
    failures = [{"time": 1, "reason": json.loads("[" * 60 + "]" * 60)}]
    (run / "ledger.json").write_text(json.dumps({"gpu_s": {"step": 10**39}, "failures": failures}))


def closed(run, secret):
    """Folders that nobody may read."""
    for name in ("events", "logs", "checkpoints", "chain"):
        (run / name).chmod(0)


TRAPS = (bulky, pipes, endless, secrets, secret_folders, circles, huge, crowded, nonsense, beyond, closed)


@pytest.fixture(scope="module", params=TRAPS, ids=lambda trap: trap.__name__)
def runs(request):
    """Return the folder of runs: one of Alice's, and Mallory's, with links that are his."""
    root = Path(tempfile.mkdtemp(prefix="cw-owner-", dir="/tmp"))
    root.chmod(0o755)
    (root / "hidden").mkdir(mode=0o700)
    for name in ("secret", "1", "rank-00000.jsonl", "manifest.json", "step-00000010.out"):
        (root / "hidden" / name).write_text(f"{SECRET}\n")
        (root / "hidden" / name).chmod(0o600)
    folder = root / "runs"
    folder.mkdir()
    folder.chmod(0o1777)
    for name, uid in ((GOOD, ALICE), (BAD, MALLORY)):
        write_run(folder / name, root)
        if name == BAD:
            request.param(folder / name, root / "hidden" / "secret")
        subprocess.run(["chown", "-RhP", f"{uid}:{uid}", folder / name], check=True)
    (folder / "link-20261123-100000").symlink_to(root / "hidden")
    os.chown(folder / "link-20261123-100000", MALLORY, MALLORY, follow_symlinks=False)
    yield folder
    shutil.rmtree(root)


def done(program, *arguments):
    """Return a program's exit code and output, as root's ssh gets them."""
    process = subprocess.run(
        [sys.executable, "-", *map(str, arguments)],
        input=bundle_script(program),
        capture_output=True,
        timeout=100,
        check=False,
        env={**os.environ, "PATH": "/nonexistent"},
    )
    text = (process.stdout + process.stderr).decode(errors="replace")
    assert SECRET not in text
    return process.returncode, process.stdout.decode(errors="replace"), text


def test_a_list_has_the_runs_of_all_others(runs):
    """`wright jobs`; the hostile run is listed with the reason, or with what could be read."""
    code, out, text = done(RUNS, "list", runs)

    assert code == 0, text
    assert len(out) < OUTPUT_BYTES
    rows = {row["run"]: row for row in parse_document(out)}
    assert (rows[GOOD]["step"], rows[GOOD]["jobs"]) == (2, ["7"])
    assert rows[GOOD]["state"] == "finished"
    assert BAD in rows


@pytest.mark.parametrize(
    "command", [("status", "text"), ("status", "json"), ("status", "metrics"), ("curves",), ("logs", "once")]
)
def test_a_command_about_one_run_ends(runs, command):
    """With the good one's content, and for the hostile one without anything of root's."""
    code, out, text = done(RUNS, command[0], runs, GOOD, *command[1:])
    assert code == 0, text
    assert GOOD in out or command[0] == "logs"

    done(RUNS, command[0], runs, BAD, *command[1:])
    done(RUNS, command[0], runs, "link-20261123-100000", *command[1:])


def test_the_texts_of_a_job_are_its_owners(runs):
    """`wright why` and heal."""
    code, out, text = done(RUN_TEXTS, runs, GOOD, "", 60)
    assert code == 0, text
    assert json.loads(out)["run"] == str(runs / GOOD)
    assert len(json.loads(out)["texts"]) > 1

    code, _, text = done(RUN_TEXTS, runs, BAD, "", 60)
    assert code == 0, text


STOP_ALL = f"""
import os, signal, time
os.setresuid({MALLORY}, {MALLORY}, {MALLORY})
while True:
    try:
        os.kill(-1, signal.SIGSTOP)
    except OSError:
        pass
"""


@pytest.mark.parametrize("runs", [endless], indirect=True)
def test_a_user_who_stops_the_readers_delays_them_to_their_limit_in_all(runs):
    """A reader has the user's id, so the user may stop it; the run and each named file are read by one."""
    stopper = subprocess.Popen([sys.executable, "-c", STOP_ALL])
    try:
        begun = time.monotonic()
        code, out, text = done(RUN_TEXTS, runs, BAD, MALLORY, 4, "/etc/hostname", "/etc/hosts")
        taken_s = time.monotonic() - begun
    finally:
        stopper.kill()
        stopper.wait()

    assert code == 0, text
    assert "cannot read the files of" in text
    assert json.loads(out)["texts"] == []
    assert taken_s < 15


@pytest.mark.parametrize("uid", [MALLORY, ""])
def test_a_path_that_a_job_names_is_read_as_its_user(runs, uid):
    """A user may name any path as the output of a job."""
    secret = runs.parent / "hidden" / "secret"
    code, out, text = done(RUN_TEXTS, runs, "none", uid, 60, secret, "/etc/shadow")

    assert code == 0, text
    assert not any(one["text"] for one in json.loads(out)["texts"])


def test_a_snapshot_has_the_runs_of_all_others(runs):
    """`wright top` and the web page."""
    begun = time.monotonic()
    found, _unread = active_runs.read_runs(str(runs), [BAD, "link-20261123-100000", GOOD], 5.0)

    assert found[GOOD]["step"] == 2
    assert SECRET not in json.dumps(found)
    assert parse_document(json.dumps({"runs": found}))
    assert time.monotonic() - begun < 20


def test_a_report_has_the_runs_of_all_others(runs):
    """Of a month, and of one job."""
    request = {
        "job": "", "begin": 0, "end": 2**33, "runs": str(runs), "mark": "|", "limit_s": 1, "accounting": True,
        "fields": ["JobID"], "queries": {}, "prometheus": "http://127.0.0.1:1",
    }  # fmt: skip
    code, out, text = done(HISTORY, json.dumps(request))
    assert code == 0, text
    assert len(out) < OUTPUT_BYTES
    assert GOOD in [row["run"] for row in parse_document(out)["runs"]]

    code, _, text = done(HISTORY, json.dumps({**request, "job": BAD}))
    assert code == 0, text


def test_metrics_have_the_runs_of_all_others(runs):
    """The exporter; it polls again and again."""
    settings = type("Settings", (), {"runs": str(runs)})
    state = {}
    for _ in range(2):
        families = list(exported_runs.collect(settings, state))
    text = "\n".join(
        str(vars(family)) if hasattr(family, "__dict__") else repr(family) for family in families
    )

    assert GOOD in text
    assert SECRET not in text
