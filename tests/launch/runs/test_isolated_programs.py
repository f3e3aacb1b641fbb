"""Programs for runs import nothing from the current folder, which may be another user's."""

import base64
import re
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.config.load import load_cluster
from clusterwright.edge.bundler import (
    CHECKPOINTS,
    PACKAGE,
    RUNS,
    bundle_script,
    program_command,
    program_input,
)
from clusterwright.edge.ssh import LocalMachine
from clusterwright.launch.checkpoints import CheckpointHost
from clusterwright.launch.listing import run_jobs_argv


@pytest.fixture
def trap(tmp_path, monkeypatch):
    """A folder with a module that Python would import first."""
    (tmp_path / "json.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "ran"


@pytest.mark.parametrize("form", ["here", "host", "local machine"])
def test_a_module_in_the_current_folder_is_not_imported(trap, tmp_path, form):
    """Neither by a local command nor by the shell line for a host."""
    (tmp_path / "runs").mkdir()
    argv = {
        "here": run_jobs_argv(None, "list", str(tmp_path / "runs")),
        "host": ("sh", "-c", program_command("list", str(tmp_path / "runs"))),
        "local machine": LocalMachine().argv("any", program_command("list", str(tmp_path / "runs"))),
    }[form]
    result = subprocess.run(argv, input=program_input(RUNS), capture_output=True, timeout=60, check=True)

    assert result.stdout.strip() == b"[]"
    assert not trap.exists()


def test_a_script_on_standard_input_imports_nothing_from_the_current_folder(trap, tmp_path):
    """With `python -`, which reads PYTHONPATH for our library."""
    (tmp_path / "runs").mkdir()
    argv = [sys.executable, "-", "list", str(tmp_path / "runs")]
    subprocess.run(argv, input=bundle_script(RUNS), capture_output=True, timeout=60, check=True)

    assert not trap.exists()


def test_checkpoints_are_listed_without_modules_of_the_current_folder(tmp_path, monkeypatch):
    """Also to find the run, before the program that lists them."""
    for name in ("json.py", "base64.py", "io.py", "zlib.py", "encodings/__init__.py", "types.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    cluster = load_cluster(Path(__file__).parents[3] / "examples/lab/cluster.yaml")
    line = CheckpointHost(cluster, LocalMachine())._command("list", "none", {})
    scripts = (base64.b64encode(bundle_script(program)) for program in (RUNS, CHECKPOINTS))

    subprocess.run(
        ["sh", "-c", line], input=b"\n".join(scripts) + b"\n", capture_output=True, timeout=60, check=False
    )

    assert not (tmp_path / "ran").exists()


def test_every_python_for_a_text_is_isolated():
    """In commands that we send to hosts, and in those that start on this machine."""
    starts = re.compile(r"""python3 -c |"python3", "-c"|sys\.executable, "-[cm]"|"python3", "-"[,\]]""")
    of_jobs = ("onhost/supervisor", "onhost/adapters")  # as the job's user, in the job's own folder
    lines = [
        f"{path.relative_to(PACKAGE)}: {line.strip()}"
        for path in PACKAGE.rglob("*.py")
        if not str(path.relative_to(PACKAGE)).startswith(of_jobs)
        for line in path.read_text(encoding="utf-8").splitlines()
        if starts.search(line)
    ]

    assert lines == []


def test_the_trap_is_one(trap, tmp_path):
    """Without the option, Python imports it."""
    subprocess.run([sys.executable, "-c", "import json"], cwd=tmp_path, timeout=60, check=False)
    assert trap.exists()
