"""`wright dev` as it is typed, as far as no cluster is needed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.cli.dev import Common, session_options
from clusterwright.config.environments import PythonEnvironment
from clusterwright.config.load import load_cluster

CLUSTER = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"


@pytest.fixture
def wright(tmp_path):
    """Run the command in an empty folder."""

    def call(*arguments):
        argv = [
            sys.executable,
            "-c",
            "from clusterwright.cli import main; main()",
            "dev",
            *map(str, arguments),
        ]
        env = {**os.environ, "CLUSTERWRIGHT_CLUSTER": str(CLUSTER), "XDG_STATE_HOME": str(tmp_path)}
        return subprocess.run(
            argv, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False
        )

    return call


def lines(done):
    """What is asked of Slurm."""
    assert (done.returncode, done.stderr) == (0, "")
    return [
        line.removeprefix("#SBATCH --") for line in done.stdout.splitlines() if line.startswith("#SBATCH")
    ]


def test_a_dry_run_prints_the_script_and_nothing_else(wright):
    """Eight hours unless something else is typed."""
    asked = lines(wright("--dry-run"))

    assert [asked[0], asked[4], asked[7]] == ["job-name=wright-dev-jupyter", "gres=gpu:1", "time=0-08:00:00"]


def test_what_is_typed_is_asked_for(wright):
    """Quantities have units, as in files."""
    asked = lines(wright("--dry-run", "--shell", "--gpus", 2, "--cpus", 6, "--memory", "3GiB", "--time", "90m",
                         "--account", "vision", "--partition", "train"))  # fmt: skip

    wanted = {
        "job-name=wright-dev-shell",
        "account=vision",
        "gres=gpu:2",
        "cpus-per-task=6",
        "mem=3072M",
        "time=0-01:30:00",
    }
    assert wanted <= set(asked)


def test_a_job_file_lends_its_environment(wright, tmp_path):
    """What works in the notebook works in the training."""
    file = tmp_path / "job.yaml"
    file.write_text(
        "name: tiny\nrecipe: gpt\ntime: 1h\nteam: language\nuser: alice\n"
        "environment: {modules: [cuda], variables: {GREETING: hello}}\n"
    )
    done = wright(file, "--dry-run", "--cluster", CLUSTER)

    assert "account=language" in lines(done)
    assert "module load cuda\n" in done.stdout
    assert "export GREETING=hello\n" in done.stdout


def test_a_named_environment_is_its_python():
    """As the cluster file has it."""
    cluster = load_cluster(CLUSTER)
    made = PythonEnvironment(team="vision", path="/shared/envs/vision")
    there = cluster.environments.model_copy(update={"python": {"vision": made}})
    cluster = cluster.model_copy(update={"environments": there})

    assert (
        session_options(Common(environment="vision"), cluster, None).python
        == "/shared/envs/vision/bin/python"
    )
    assert session_options(Common(), cluster, None).python == cluster.software.python


def test_a_job_files_container_is_said_to_be_left_out(wright, tmp_path):
    """A notebook in another Python than the training's would be a surprise."""
    file = tmp_path / "job.yaml"
    file.write_text("name: tiny\nrecipe: gpt\ntime: 1h\ncontainer: {image: /shared/images/torch.sqsh}\n")
    done = wright(file, "--dry-run", "--cluster", CLUSTER)

    assert "note: image `/shared/images/torch.sqsh` of job `tiny` is ignored" in done.stderr


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--jupyter", "--vscode"), "dev-kind"),
        (("--partition", "none"), "dev-partition"),
        (("--time", "3d"), "dev-time"),
        (("--environment", "visoin"), "dev-environment"),
        (("--gpus", 64), "dev-gpus"),
        (("--time", "12:00:00"), "bad-quantity"),
        (("--memory", "64"), "bad-quantity"),
        (("--gpus=-1",), "usage"),
        (("--port", 70000), "out-of-range"),
    ],
)
def test_what_cannot_be_is_said_before_any_host_is_asked(wright, options, code):
    """Exit code 2, and the fix."""
    done = wright(*options)

    assert done.returncode == 2, done.stderr
    assert f"error[{code}]" in done.stderr
    assert "fix: " in done.stderr
