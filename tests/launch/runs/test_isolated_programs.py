"""Programs for runs import nothing from the current folder, which may be another user's."""

import subprocess
import sys

import pytest

from clusterwright.edge.bundler import RUNS, program_command, program_input
from clusterwright.edge.ssh import LocalMachine
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


def test_the_trap_is_one(trap, tmp_path):
    """Without the option, Python imports it."""
    subprocess.run([sys.executable, "-c", "import json"], cwd=tmp_path, timeout=60, check=False)
    assert trap.exists()
