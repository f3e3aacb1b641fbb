"""Commands that need no cluster create no socket and start no program: nothing is sent anywhere."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
# Audit events of Python (PEP 578); the process ends at the first one.
FORBIDDEN = """
import os, sys
def hook(event, arguments):
    if event == "subprocess.Popen" and arguments[0] == "uname":
        return  # platform.platform(), for the file of details
    if event.startswith(("socket.", "subprocess.", "os.exec", "os.posix_spawn", "os.fork", "os.system", "urllib.")):
        os.write(2, ("FORBIDDEN %s %r\\n" % (event, arguments)).encode())
        os._exit(99)
sys.addaudithook(hook)
"""
WORK = "--model llama3-8b --gpu h100 --gpus 64 --seq 8192 --global-batch 64"
COMMANDS = [
    "--help",
    "--version",
    "init --out new.yaml",
    "validate cluster.yaml",
    "validate job.yaml --cluster cluster.yaml",
    "explain nodes.gpus.count",
    "explain gres-mismatch",
    "schema job",
    "completion bash",
    "render --cluster cluster.yaml --out tree",
    "why slurm-1.out",
    f"plan search {WORK}",
    f"plan explain {WORK}",
    "plan size --model llama3-8b --gpu h100 --tokens 1e9 --deadline 30d --html size.html",
    "plan fabric --nodes 16 --html fabric.html",
    "plan cost --gpu h100 --nodes 4",
    "plan power --gpu h100 --nodes 4",
    "nonsense",
]


@pytest.fixture
def folder(tmp_path):
    """A folder with a cluster file, a job file and a log; Python forbids sockets and programs there."""
    shutil.copy(EXAMPLES / "university/cluster.yaml", tmp_path)
    shutil.copy(EXAMPLES / "university/resnet.yaml", tmp_path / "job.yaml")
    (tmp_path / "slurm-1.out").write_text("torch.cuda.OutOfMemoryError: CUDA out of memory.\n")
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook/sitecustomize.py").write_text(FORBIDDEN)
    return tmp_path


def run(folder, argv):
    """Run Python under the rule."""
    variables = os.environ | {
        "PYTHONPATH": f"{folder / 'hook'}:{os.environ.get('PYTHONPATH', '')}",
        "HOME": str(folder),
    }
    return subprocess.run(
        [sys.executable, *argv],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_without_a_cluster_creates_no_socket(folder, command):
    """Neither do errors: nothing is reported."""
    done = run(folder, ["-m", "clusterwright", *command.split()])

    assert "FORBIDDEN" not in done.stderr
    assert done.returncode == (2 if command == "nonsense" else 0), done.stderr


def test_a_bug_is_reported_to_no_one(folder):
    """Its details are a file on this machine, and its message says so."""
    program = (
        "from clusterwright.cli import main, validate; import sys\n"
        "import clusterwright.config.load as load; load.checked = lambda *_: 1 / 0\n"
        "sys.argv = ['wright', 'validate', 'cluster.yaml']; main()"
    )
    done = run(folder, ["-c", program])

    assert "error[bug]" in done.stderr
    assert "FORBIDDEN" not in done.stderr


@pytest.mark.parametrize("code", ["import socket; socket.socket()", "import os; os.system('true')"])
def test_the_rule_sees_what_it_forbids(folder, code):
    """Otherwise the tests here would prove nothing."""
    assert run(folder, ["-c", code]).returncode == 99
