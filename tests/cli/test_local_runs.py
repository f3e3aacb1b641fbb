"""`wright train --local` in a folder without a cluster file, and the commands that follow it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clusterwright.cli._connection import local_run

pytestmark = [pytest.mark.train, pytest.mark.timeout(300)]

WRIGHT = (sys.executable, "-m", "clusterwright")
PROGRAM = "import os, time\nprint('hello from rank', os.environ['RANK'], flush=True)\ntime.sleep({seconds})\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder with a program; nothing of the tests' environment names a cluster."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLUSTERWRIGHT_CLUSTER", raising=False)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    (tmp_path / "program.py").write_text(PROGRAM.format(seconds=0))
    return tmp_path


def wright(*arguments, **options):
    """Run a command to its end."""
    return subprocess.run(
        [*WRIGHT, *arguments], capture_output=True, text=True, timeout=120, check=False, **options
    )


def processes_of(folder):
    """The command lines of processes that work for a run in this folder."""
    command_lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command_lines.append(path.read_text())
        except OSError:
            continue
    return [line for line in command_lines if f"{folder}/runs/" in line]


def is_gone(folder, seconds=5):
    """True once no process works for a run in this folder."""
    until = time.monotonic() + seconds
    while processes_of(folder) and time.monotonic() < until:
        time.sleep(0.1)
    return not processes_of(folder)


def test_a_local_run_is_a_run_to_every_command(folder):
    """Name and `last` find it without a cluster file, and each command of the line `next:` works."""
    train = wright("train", "--local", "--", "python3", "program.py")
    [name] = os.listdir("runs")

    assert (train.returncode, "hello from rank 0" in train.stdout) == (0, True)
    assert f"wright logs -f {name}; wright jobs; wright cancel {name}" in train.stderr
    for reference in (name, "last", f"runs/{name}"):
        assert "hello from rank 0" in wright("logs", "-f", reference).stdout
        assert json.loads(wright("status", reference, "--json").stdout)["run"] == name
        assert wright("curves", reference, "--html", "page.html").returncode == 0
        assert wright("report", "job", reference).returncode == 0
        assert wright("why", reference).stdout == "These logs show no failure.\n"
        assert wright("cancel", reference).returncode == 0
    [row] = json.loads(wright("jobs", "--json").stdout)
    assert (row["run"], row["state"]) == (name, "finished")
    assert wright("logs", "no-such-run").returncode == 2


def test_without_pytorch_nothing_is_started(folder, tmp_path_factory):
    """The error names each Python that was tried, and there is no run."""
    empty = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", empty], check=True, timeout=60)
    (folder / "job.yaml").write_text(
        "name: t\ntime: 10m\nnodes: 1\ngpus_per_node: 1\ncommand: [program.py]\n"
        f"environment: {{python: {empty}/bin/python}}\n"
    )
    train = wright("train", "job.yaml", "--local")

    assert train.returncode == 2
    assert (
        f"error[no-torch]: PyTorch, which the ranks need, is not installed for {empty}/bin/python"
        in train.stderr
    )
    assert not (folder / "runs").exists()


def test_a_pytorch_that_cannot_be_imported_ends_the_run(folder, monkeypatch):
    """Without a rendezvous store no rank starts; the outcome names the error, and nothing keeps waiting."""
    (folder / "stub" / "torch").mkdir(parents=True)
    (folder / "stub" / "torch" / "__init__.py").write_text(
        "raise ImportError('libcudart.so.12: no such file')\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{folder}/stub:{os.environ.get('PYTHONPATH', '')}")
    train = wright("train", "--local", "--", "python3", "program.py")
    [row] = json.loads(wright("jobs", "--json").stdout)

    assert train.returncode == 1
    assert row["state"] == "failed"
    assert "the rendezvous store cannot start: ImportError: libcudart.so.12" in row["reason"]
    assert is_gone(folder)


@pytest.mark.parametrize(
    ("number", "begun"), [(signal.SIGINT, "is ready at"), (signal.SIGTERM, "hello from rank 0")]
)
def test_a_signal_ends_the_run(folder, number, begun):
    """Before ranks exist and while they run; no process is left."""
    (folder / "program.py").write_text(PROGRAM.format(seconds=100))
    with (folder / "output").open("w") as output:
        train = subprocess.Popen(
            [*WRIGHT, "train", "--local", "--", "python3", "program.py"],
            stdout=output,
            stderr=output,
        )
    until = time.monotonic() + 90
    while begun not in (folder / "output").read_text() and time.monotonic() < until:
        time.sleep(0.05)
    train.send_signal(number)

    assert train.wait(timeout=60) == 143
    assert "canceled by the user" in (folder / "output").read_text()
    assert is_gone(folder)


def test_a_run_that_lost_its_processes_is_not_running(folder):
    """A local scheduler that was killed leaves a run without an outcome, and another process may get its number."""
    wright("train", "--local", "--", "python3", "program.py")
    [name] = os.listdir("runs")
    (folder / "runs" / name / "ended.json").unlink()
    for events in (folder / "runs" / name / "events").iterdir():
        lines = events.read_text().splitlines(keepends=True)
        events.write_text("".join(line for line in lines if '"job_end"' not in line))
    os.utime(folder / "runs" / name / "pulse", (0, 0))  # its last heartbeat
    (folder / "runs" / name / "jobs").write_text(f"{os.getpid()}\n")
    [row] = json.loads(wright("jobs", "--json").stdout)
    shutil.rmtree("runs")

    assert row["state"] == "gone"
    assert wright("jobs").returncode == 2


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to own files of another account")
def test_a_name_alone_means_a_run_of_the_caller(folder):
    """Where all may write, another user can give a run the number of a job; a path still means what it says."""
    for name in ("12347", "runs/other"):
        (folder / name).mkdir(parents=True)
        (folder / name / "job.json").write_text("{}")
        os.chown(folder / name, 4321, 4321)

    assert local_run("12347", Path("cluster.yaml")) is None
    assert local_run("other", Path("cluster.yaml")) is None
    assert local_run("runs/other", Path("cluster.yaml")) == folder / "runs" / "other"
    os.chown(folder / "12347", os.geteuid(), os.getegid())
    assert local_run("12347", Path("cluster.yaml")) == folder / "12347"


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to own files of another account")
@pytest.mark.parametrize("planted", ["record", "link to a record", "link to a run", "runs elsewhere"])
def test_another_user_makes_no_folder_of_the_caller_a_run(folder, planted):
    """A record that another user put into a folder of the caller's, or a link of theirs to a run of the caller's."""
    own = folder / "own"
    own.mkdir()
    record, link = folder / "12347" / "job.json", folder / "12347"
    if planted in ("record", "link to a record"):
        link.mkdir()
        (own / "job.json").write_text("{}")
        record.symlink_to(own / "job.json") if "link" in planted else record.write_text("{}")
        os.chown(record, 4321, 4321, follow_symlinks=False)
    elif planted == "link to a run":
        (own / "job.json").write_text("{}")
        link.symlink_to(own)
        os.chown(link, 4321, 4321, follow_symlinks=False)
    else:
        (folder / "runs").mkdir()
        (own / "job.json").write_text("{}")
        (folder / "runs" / "12347").symlink_to(own)
        os.chown(folder / "runs" / "12347", 4321, 4321, follow_symlinks=False)

    assert local_run("12347", Path("cluster.yaml")) is None
