"""A launcher is one file: dropped into a folder, it is a choice of the job file, starts ranks, and is in the script."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CLUSTER = ROOT / "examples" / "lab" / "cluster.yaml"
# As a launcher of a site's own would be: it starts the ranks of its host, and ends with the first code that is not 0.
STARTER = """
import os, subprocess, sys
ranks, first, os.environ["WORLD_SIZE"], *command = sys.argv[1:]
started = [
    subprocess.Popen(command, env={**os.environ, "RANK": str(int(first) + own), "LOCAL_RANK": str(own)})
    for own in range(int(ranks))
]
sys.exit(max(one.wait() for one in started))
"""
LAUNCHER = '''"""Site's own starter on each host."""

import sys

from clusterwright.onhost.adapters.launcher import Launcher


def arguments(generation, command):
    first, world = generation.hosts.index(generation.host) * generation.ranks, len(generation.hosts) * generation.ranks
    starter = [sys.executable, {starter!r}, str(generation.ranks), str(first), str(world)]
    return [*starter, sys.executable, *command]


LAUNCHER = Launcher(on_host=arguments, programs=("many",), environment={{"STARTED_BY": "many"}})
'''
PROGRAM = """
import os, sys
from pathlib import Path
names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "STARTED_BY", "CLUSTERWRIGHT_GENERATION")
Path(sys.argv[1], os.environ["RANK"]).write_text(" ".join(os.environ[name] for name in names))
"""


@pytest.fixture
def wright(tmp_path):
    """The command, with the launcher `site` dropped into a folder."""
    (tmp_path / "launchers").mkdir()
    (tmp_path / "starter.py").write_text(STARTER)
    (tmp_path / "launchers" / "site.py").write_text(LAUNCHER.format(starter=str(tmp_path / "starter.py")))
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "ranks").mkdir()

    def call(*arguments):
        argv = [sys.executable, "-c", "from clusterwright.cli import main; main()", *map(str, arguments)]
        env = {**os.environ, "CLUSTERWRIGHT_LAUNCHERS": str(tmp_path / "launchers")}
        return subprocess.run(
            argv, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=200, check=False
        )

    return call


@pytest.mark.train
@pytest.mark.timeout(280)
def test_it_starts_the_ranks_of_a_local_run(wright, tmp_path):
    """By its program's name on the line; two hosts with two ranks each."""
    done = wright(
        "train", "--local", "--out", tmp_path / "runs", "--nodes", 2, "--gpus", 2, "--code", "none",
        "--", "many", "python", tmp_path / "program.py", tmp_path / "ranks",
    )  # fmt: skip
    ranks = {path.name: path.read_text() for path in (tmp_path / "ranks").iterdir()}

    assert done.returncode == 0, done.stdout + done.stderr
    assert ranks == {str(rank): f"{rank} 4 {rank % 2} many 1" for rank in range(4)}


def test_it_is_in_the_script_and_in_the_record(wright, tmp_path):
    """Of a job file that names it."""
    job = tmp_path / "job.yaml"
    job.write_text("name: x\ncommand: [program.py]\ntime: 10m\nlauncher: site\n")
    done = wright("train", job, "--dry-run", "--cluster", CLUSTER)
    text = done.stdout.partition("<<'END_OF_JOB_JSON'\n")[2].partition("\nEND_OF_JOB_JSON\n")[0]

    assert done.returncode == 0, done.stderr
    assert "#SBATCH --ntasks-per-node=1 " in done.stdout
    assert "/run_module.py clusterwright.onhost.supervisor.supervisor /shared/runs/x-" in done.stdout
    assert json.loads(text)["launch"]["launcher"] == "site"


def test_wright_describes_it(wright):
    """By the first line of its file, beside our own."""
    said = wright("explain", "job.launcher").stdout

    assert "site: Site's own starter on each host." in " ".join(said.split())
    assert "torchrun: PyTorch's elastic torchrun" in " ".join(said.split())


def test_without_the_file_there_is_no_such_launcher(tmp_path):
    """The choices are those of the folders."""
    job = tmp_path / "job.yaml"
    job.write_text("name: x\ncommand: [program.py]\ntime: 10m\nlauncher: site\n")
    argv = [sys.executable, "-c", "from clusterwright.cli import main; main()", "train", job, "--dry-run"]
    done = subprocess.run(
        [*argv, "--cluster", CLUSTER], capture_output=True, text=True, timeout=100, check=False
    )

    assert done.returncode == 2
    assert "error[not-a-choice]" in done.stderr
