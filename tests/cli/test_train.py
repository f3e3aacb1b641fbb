"""`wright train` as a user meets it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COUNTING = ROOT / "tests" / "onhost" / "supervisor" / "counting.py"
CLUSTER = ROOT / "examples" / "lab" / "cluster.yaml"


@pytest.fixture
def wright(tmp_path):
    """Run the command in an empty folder."""

    def call(*arguments, python=(sys.executable,), **more):
        env = {name: text for name, text in os.environ.items() if name != "CLUSTERWRIGHT_CLUSTER"}
        argv = [*python, "-c", "from clusterwright.cli import main; main()", *map(str, arguments)]
        return subprocess.run(
            argv, cwd=tmp_path, env={**env, **more}, capture_output=True, text=True, timeout=120, check=False
        )

    return call


@pytest.fixture
def job(tmp_path):
    """A counting job, beside no cluster file."""
    file = tmp_path / "job.yaml"
    command = f"[{COUNTING}, '8', '0.01']"
    file.write_text(f"name: count\ncommand: {command}\nnodes: 2\ntime: 10m\ncheckpoint: {{every: 5 steps}}\n")
    return file


def record_in(script):
    """What the script writes into job.json."""
    return json.loads(
        script.partition("job.json <<'END_OF_JOB_JSON'\n")[2].partition("\nEND_OF_JOB_JSON\n")[0]
    )


def test_a_dry_run_prints_the_script_and_nothing_else(wright, job, tmp_path):
    """It can be piped into a file or into sbatch."""
    done = wright("train", job, "--dry-run", "--cluster", CLUSTER)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("#!/bin/bash\n")
    assert record_in(done.stdout)["launch"]["command"] == [str(COUNTING), "8", "0.01"]
    assert not (tmp_path / "runs").exists()


ON_MACHINES = [("--local",), ("--hostfile", "hostfile"), ("--local", "--hostfile", "hostfile")]


@pytest.mark.parametrize("where", ON_MACHINES, ids=["local", "hostfile", "both"])
@pytest.mark.parametrize("what", ["python", "LD_PRELOAD", "PYTHONPATH", "folder"])
def test_a_dry_run_starts_nothing_that_the_job_file_names(wright, job, tmp_path, where, what):
    """Neither its Python, a library of its variables, nor a module of the current folder."""
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    module = f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\n"
    (tmp_path / "importlib").mkdir()
    (tmp_path / "importlib" / "__init__.py").write_text(module)
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "sitecustomize.py").write_text(module)
    (tmp_path / "hostfile").write_text("h1\n")
    environment = {
        "python": f"{{python: {program}}}",
        "LD_PRELOAD": f"{{variables: {{LD_PRELOAD: {program}}}}}",
        "PYTHONPATH": f"{{variables: {{PYTHONPATH: {tmp_path}/modules}}}}",
        "folder": "{}",
    }[what]
    job.write_text(job.read_text().replace("nodes: 2", "nodes: 1") + f"environment: {environment}\n")
    done = wright("train", job, *where, "--dry-run", python=(sys.executable, "-P"))

    assert done.returncode == 0, done.stderr
    assert what == "folder" or str(program) in done.stdout or f"{tmp_path}/modules" in done.stdout
    assert "LD_PRELOAD" not in done.stderr  # of a loader that was given it
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("where", ON_MACHINES, ids=["local", "hostfile", "both"])
@pytest.mark.parametrize("more", [(), ("--dry-run",)], ids=["show", "dry-run"])
def test_show_starts_nothing_where_no_cluster_has_the_variables(wright, job, tmp_path, where, more):
    """It is refused: this machine and the hosts of a hostfile have no cluster file to read."""
    (tmp_path / "hostfile").write_text("h1\n")
    done = wright("train", job, *where, "--show", *more)

    assert (done.returncode, done.stdout) == (2, "")
    assert "error[train-words]: --show prints the variables of a cluster's job" in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("option", ["--dry-run", "--show"])
def test_a_run_to_resume_is_not_started_by_an_option_that_prints(wright, option):
    """There is no job file from which a script or variables could be printed."""
    done = wright("train", "--resume", "count-1", option, "--cluster", CLUSTER)

    assert (done.returncode, done.stdout) == (2, "")
    assert f"error[train-words]: {option} needs a job file or a program" in done.stderr


def test_the_cluster_file_is_looked_for_where_one_expects_it(wright, job, tmp_path):
    """In the folder one is in, beside the job file, and in the variable."""
    assert wright("train", job, "--dry-run", CLUSTERWRIGHT_CLUSTER=str(CLUSTER)).returncode == 0
    (tmp_path / "cluster.yaml").write_text(CLUSTER.read_text())

    assert wright("train", job, "--dry-run").returncode == 0


def test_without_a_cluster_file_the_places_are_named(wright, job):
    """And the two ways to name one."""
    done = wright("train", job)

    assert done.returncode == 2
    assert "error[no-cluster-file]" in done.stderr
    assert "CLUSTERWRIGHT_CLUSTER" in done.stderr
    assert "--cluster" in done.stderr


def test_a_missing_job_file_is_named_before_the_cluster_file(wright):
    """A mistyped name is no reason to look for another file."""
    done = wright("train", "missing.yaml")

    assert done.returncode == 2
    assert done.stderr.startswith("error[file-unreadable]: No such file or directory: missing.yaml\n")


def test_any_field_can_be_set_by_its_path(wright, job):
    """Sections keep what the file has beside it; values and what is wrong with them are as in a file."""
    paths = (
        "--set",
        "recovery.hang=10m",
        "--set",
        "checkpoint.save_total_limit=7",
        "--set",
        "warm.imports=[json, math]",
    )
    done = wright("train", job, *paths, "--dry-run", "--cluster", CLUSTER)
    refused = wright("train", job, "--set", "recovery.hangs=1", "--dry-run", "--cluster", CLUSTER)
    bare = wright("train", job, "--set", "nodes", "--dry-run", "--cluster", CLUSTER)
    told = record_in(done.stdout)["job"]

    assert (told["recovery"]["hang"], told["checkpoint"]["save_total_limit"]) == (600, 7), done.stderr
    assert told["checkpoint"]["every"] == {"steps": 5, "seconds": None}
    assert told["warm"]["imports"] == ["json", "math"]
    assert (refused.returncode, "recovery.hang" in refused.stderr) == (2, True)
    assert (bare.returncode, "--set nodes=VALUE" in bare.stderr) == (2, True)


def test_what_is_typed_comes_before_the_job_file(wright, job):
    """The rest of the file holds, with its units; and what does not fit is refused as in a file."""
    done = wright("train", job, "--nodes", "1", "--time", "20m", "--dry-run", "--cluster", CLUSTER)
    refused = wright("train", job, "--nodes", "9", "--dry-run", "--cluster", CLUSTER)

    assert "#SBATCH --nodes=1 " in done.stdout, done.stderr
    assert "#SBATCH --time=0-00:20:00 " in done.stdout
    assert record_in(done.stdout)["job"]["checkpoint"]["every"] == {"steps": 5, "seconds": None}
    assert (refused.returncode, "error[too-many-nodes]" in refused.stderr) == (2, True)


def test_behind_a_job_file_there_is_nothing_more(wright, job):
    """A program goes behind --."""
    done = wright("train", job, "x.py", "--cluster", CLUSTER)

    assert (done.returncode, "error[train-words]" in done.stderr) == (2, True)


@pytest.mark.train
def test_a_program_behind_dashes_is_a_local_run_too(wright, tmp_path):
    """With a copy of the folder that it is in; two hosts stand beside each other."""
    (tmp_path / "train.py").write_text(
        "import os, sys; print('rank', os.environ['RANK'], sys.argv[1:], __file__)"
    )
    done = wright("train", "--local", "--nodes", "2", "--", "python", "train.py", "--lr", "1")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "rank 1 ['--lr', '1'] " in done.stdout
    assert list(tmp_path.glob("runs/train-*/code/train.py"))


def test_a_local_run_has_no_tasks_of_slurms(wright, tmp_path):
    """It is refused with what to take."""
    (tmp_path / "train.py").write_text("print(1)\n")
    done = wright("train", "--local", "--", "srun", "python", "train.py")

    assert (done.returncode, "error[launcher-cannot]" in done.stderr) == (2, True)


@pytest.mark.train
def test_a_line_of_torchrun_is_a_local_run(wright, tmp_path):
    """Of the size that the line names, and its node rank is none of this machine's."""
    (tmp_path / "train.py").write_text(
        "import os, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "print('rank', dist.get_rank(), 'of', dist.get_world_size(), os.environ['LOCAL_RANK'])\n"
    )
    options = ("--nproc_per_node=2", "--node_rank=1", "--master_addr=192.168.1.10")
    done = wright("train", "--local", "--", "torchrun", *options, "train.py")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "rank 1 of 2 1" in done.stdout
    assert "--node_rank=1 --master_addr=192.168.1.10 contradict the allocation" in done.stderr


@pytest.mark.train
def test_a_line_of_torchs_old_launcher_is_a_local_run(wright, tmp_path):
    """The script gets its local rank as it parses it."""
    (tmp_path / "train.py").write_text(
        "import argparse\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--local_rank', type=int, required=True)\n"
        "print('local rank', parser.parse_args().local_rank)\n"
    )
    line = ("python", "-m", "torch.distributed.launch", "--nproc_per_node=2", "train.py")
    done = wright("train", "--local", "--", *line)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "local rank 1" in done.stdout


def test_the_dry_run_of_a_launch_line_has_its_size(wright, tmp_path):
    """Two nodes and two GPUs each, and one line on stderr for what contradicts them."""
    (tmp_path / "train.py").write_text("print(1)\n")
    line = ("torchrun", "--nnodes=2", "--nproc_per_node=2", "--node_rank=0", "train.py")
    done = wright("train", "--dry-run", "--cluster", CLUSTER, "--", *line)

    assert done.returncode == 0, done.stderr
    assert "#SBATCH --nodes=2 " in done.stdout
    assert record_in(done.stdout)["launch"]["command"] == [
        "torchrun",
        "--nnodes=2",
        "--nproc_per_node=2",
        "train.py",
    ]
    assert done.stderr.count("\n") == 1


def test_without_a_job_file_the_usage_is_said(wright):
    """Exit code 2."""
    done = wright("train")

    assert (done.returncode, "error[no-job-file]" in done.stderr) == (2, True)


@pytest.mark.train
def test_a_local_run_needs_nothing_but_this_machine(wright, job, tmp_path):
    """Ranks of all hosts merged, the outcome as exit code, everything in ./runs."""
    done = wright("train", job, "--local")

    assert done.returncode == 0, done.stderr
    assert "[local1:0] rank" in done.stdout
    assert "[job] " in done.stdout
    (run,) = (tmp_path / "runs").iterdir()
    assert json.loads((run / "finished.json").read_text())["step"] == 8
    assert f"run {run.name}" in done.stderr


@pytest.mark.train
@pytest.mark.parametrize("options", [(), ("--set", "warm.standby=false")])
def test_a_local_run_imports_nothing_of_the_current_folder(wright, job, tmp_path, options):
    """It belongs to another user, whose modules are named as ours and Python's; ranks are forked or start cold."""
    for name in (
        "clusterwright/__init__",
        "json",
        "runpy",
        "selectors",
        "secrets",
        "ctypes/__init__",
        "socket",
    ):
        module = tmp_path / f"{name}.py"
        module.parent.mkdir(exist_ok=True)
        module.write_text(
            f"open({str(tmp_path / 'imported')!r}, 'a').write(f'{{__name__}} ')\nraise SystemExit(9)\n"
        )
    done = wright("train", job, "--local", "--code", "none", *options, python=(sys.executable, "-P"))

    assert not (tmp_path / "imported").exists()
    assert done.returncode == 0, done.stderr


@pytest.mark.train
def test_a_local_run_that_fails_says_so(wright, job, tmp_path):
    """The job's own error is among the lines, and the exit code is 4: it failed each time at the same step."""
    job.write_text(job.read_text().replace("'0.01']", "'0.01', '3']\nrecovery: {restarts: 1}"))
    done = wright("train", job, "--local")

    assert done.returncode == 4
    assert "fails at step 3, as told" in done.stdout


@pytest.mark.train
def test_a_job_file_copies_no_folder_elsewhere_unless_it_is_typed(wright, job, tmp_path):
    """A job file from somebody else could publish private files of the user."""
    job = (tmp_path / "project" / "job.yaml").resolve()
    job.parent.mkdir()
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "notes.py").write_text("PRIVATE")
    text = "name: x\nprogram: ['true']\nnodes: 1\ntime: 1m\nlauncher: agent\n"
    job.write_text(f"{text}code: {{folder: {tmp_path}/private}}\n")
    refused = wright("train", job, "--local")

    assert refused.returncode == 2
    assert "code-folder-outside" in refused.stderr
    assert not (tmp_path / "runs").exists()
    wright("train", job, "--local", "--code", tmp_path / "private")
    assert list((tmp_path / "runs").glob("*/code/notes.py"))


@pytest.mark.train
def test_an_interrupt_saves_and_ends_a_local_run(job, tmp_path):
    """Control-C asks the ranks to save; exit code 143, and a checkpoint where they stopped."""
    job.write_text(job.read_text().replace("'8', '0.01'", "'5000', '0.05'"))
    argv = [
        sys.executable,
        "-u",
        "-c",
        "from clusterwright.cli import main; main()",
        "train",
        str(job),
        "--local",
    ]
    with subprocess.Popen(
        argv, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        while "from step" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        code = process.wait(timeout=150)

    assert code == 143, rest
    (run,) = (tmp_path / "runs").iterdir()
    assert json.loads((run / "ended.json").read_text())["outcome"] == "cancelled"
    assert list((run / "checkpoints").iterdir())
