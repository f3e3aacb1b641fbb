"""Which cluster a command works on when no file is named: a file found, Slurm's own answer, or an error."""

import json
import subprocess
import sys

import pytest
from tests.launch.unmanaged.conftest import LoginHost


@pytest.fixture
def login_host(tmp_path, monkeypatch):
    """A host with Slurm whose node sees all folders."""
    return LoginHost(tmp_path, monkeypatch)


def wright(*arguments):
    """Run a command in the home of the user; its result."""
    command = (sys.executable, "-m", "clusterwright", *arguments)
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_a_job_is_scheduled_on_what_slurm_describes(login_host):
    """The script asks for a partition, memory and Python that are there."""
    (login_host.home / "train.py").write_text("print()\n")
    result = wright("train", "--dry-run", "--", "python", "train.py")
    assert result.returncode == 0, result.stderr
    assert "#SBATCH --partition=debug" in result.stdout
    assert f"{login_host.home}/wright/runs/train-" in result.stdout
    assert "--time=0-01:00:00" in result.stdout


@pytest.mark.parametrize("named", ["here", "--cluster here"])
def test_the_cluster_of_this_machine_has_a_name(login_host, named, monkeypatch):
    """By the option, or by the variable; a broken Slurm is then an error and no reason to look elsewhere."""
    options = named.split() if " " in named else ()
    if not options:
        monkeypatch.setenv("CLUSTERWRIGHT_CLUSTER", named)
    (login_host.home / "t.py").write_text("print()\n")
    assert "debug" in wright("train", "--dry-run", *options, "--", "python", "t.py").stdout
    login_host.program("scontrol", "#!/bin/sh\necho no >&2; exit 1\n")
    (login_host.home / ".cache" / "clusterwright" / "slurm" / "here.json").unlink()
    result = wright("train", "--dry-run", *options, "--", "python", "t.py")
    assert result.returncode == 1
    assert "slurm-said" in result.stderr


def test_commands_on_hosts_need_a_file(login_host):
    """One error for all, as JSON too; nothing is asked of the nodes."""
    for command in ("apply", "diff", "heal"):
        result = wright(command)
        assert (result.returncode, "unmanaged-cluster" in result.stderr) == (2, True), command
    errors = json.loads(wright("diff", "--json").stdout)["errors"]
    assert errors[0]["code"] == "unmanaged-cluster"
    assert login_host.asked == 0


def test_a_file_goes_before_slurm(login_host):
    """Where a cluster file lies, it is read."""
    (login_host.home / "cluster.yaml").write_text("name: x\n")
    result = wright("jobs")
    assert "cluster.yaml" in result.stderr
    assert login_host.asked == 0


def test_without_slurm_the_error_names_both_ways(login_host):
    """A file, or a login host."""
    login_host.program("scontrol", "#!/bin/sh\nexit 1\n")
    result = wright("jobs")
    assert "no-cluster-file" in result.stderr
    assert "ssh://HOST" in result.stderr
