"""A program as Slurm starts it: how it ended, what began that, and what it was told; Slurm itself is in a lab."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

HOSTS = ("gpu-node1", "gpu-node2")
# Says its words and how it was asked, then does what the test wants; as one task, which is the first rank.
SRUN = """#!/bin/sh
case "$1" in --mpi=list) echo "MPI plugin types are..."; echo "  pmix"; exit 0;; esac
echo "$@" > {folder}/asked
env > {folder}/told
{does}
"""


@pytest.fixture
def start(tmp_path, write_record):
    """`start(does, ...)`: the batch step, with programs of ours in the place of Slurm's."""
    programs = tmp_path / "bin"
    programs.mkdir()
    made = []

    def begin(does, *, restarts=0, launcher="srun", words=("./a.out", "x y")):
        for name, text in {
            "srun": SRUN.format(folder=tmp_path, does=does),
            "scontrol": "#!/bin/sh\nprintf 'gpu-node1\\ngpu-node2\\n'\n",
        }.items():  # fmt: skip
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        fields = {
            "name": "program", "program": list(words), "time": "1d", "nodes": 2, "gpus_per_node": 2,
            "launcher": launcher, "recovery": {"restarts": restarts},
        }  # fmt: skip
        write_record(tmp_path / "run", fields)
        argv = [sys.executable, "-m", "clusterwright.onhost.supervisor.unsupervised", str(tmp_path / "run")]
        env = {
            **os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "SLURM_JOB_ID": "7",
            "SLURM_JOB_NODELIST": "gpu-node[1-2]", "SLURM_CPUS_PER_TASK": "4",
        }  # fmt: skip
        out = (tmp_path / "out").open("ab")  # as sbatch does (--open-mode=append)
        made.append(subprocess.Popen(argv, env=env, stdout=out, stderr=subprocess.STDOUT))
        out.close()
        return made[-1]

    yield begin
    for process in made:
        process.kill()
        process.wait()


@pytest.fixture
def ended(tmp_path):
    """`ended(process)`: its exit code, and the run's outcome."""

    def wait(process):
        code = process.wait(timeout=60)
        return code, json.loads((tmp_path / "run" / "ended.json").read_text())

    return wait


def test_a_program_that_ends_well_is_a_run_that_has_finished(start, ended, tmp_path):
    """A task for each GPU, by PMIx, told where ranks meet; events and ledger as of any run."""
    code, outcome = ended(start("exit 0"))
    asked, told = (tmp_path / "asked").read_text(), (tmp_path / "told").read_text().splitlines()
    events = [
        json.loads(line)["event"]
        for line in (tmp_path / "run/events/supervisor-1.jsonl").read_text().splitlines()
    ]

    assert (code, outcome["outcome"]) == (0, "finished")
    assert asked.startswith(
        "--mpi=pmix --kill-on-bad-exit=1 --nodes=2 --nodelist=gpu-node1,gpu-node2 --ntasks=4 "
    )
    assert "--ntasks-per-node=2 --cpus-per-task=4 --distribution=block" in asked
    assert asked.endswith("/run_module.py clusterwright.onhost.adapters.begin task pytorch ./a.out x y\n")
    assert {"CLUSTERWRIGHT_HOSTS=gpu-node1,gpu-node2", "CLUSTERWRIGHT_RANKS=2"} <= set(told)
    assert any(line.startswith("CLUSTERWRIGHT_FIRST=127.0.0.1:2") for line in told)
    assert events == ["job_start", "generation_start", "generation_end", "job_end"]
    assert (tmp_path / "run" / "ledger.json").exists()


def test_on_each_host_there_is_one_task_with_all_of_its_processors(start, ended, tmp_path):
    """For a program that starts the ranks itself."""
    ended(start("exit 0", launcher="host"))

    assert "--ntasks=2 --ntasks-per-node=1 --cpus-per-task=8 " in (tmp_path / "asked").read_text()
    assert "--mpi" not in (tmp_path / "asked").read_text()


def test_the_first_task_that_failed_is_named_with_its_last_words(start, ended, tmp_path):
    """From its own log; not the tasks that Slurm then killed."""
    log = tmp_path / "run/logs/1/gpu-node2"
    does = f"""mkdir -p {log}; printf 'Traceback (most recent call last):\\nValueError: no data\\n' > {log}/1.err
echo 'srun: error: gpu-node2: task 3: Exited with exit code 1' >&2
echo 'srun: error: gpu-node1: tasks 0-1: Killed' >&2
exit 1"""
    code, outcome = ended(start(does))

    assert (code, outcome["outcome"]) == (1, "failed")
    assert outcome["reason"] == "task 3 on gpu-node2: ValueError: no data"


def test_it_begins_anew_only_where_the_job_asks_for_it(start, ended, tmp_path):
    """The second time it ends well."""
    does = f"[ -e {tmp_path}/once ] && exit 0; touch {tmp_path}/once; exit 1"
    code, outcome = ended(start(does, restarts=2))

    assert (code, outcome["outcome"]) == (0, "finished")
    assert sorted(path.name for path in (tmp_path / "run" / "logs").iterdir() if path.name.isdigit()) == [
        "1",
        "2",
    ]


@pytest.mark.parametrize("way", ["mark", "signal"])
def test_a_run_that_is_cancelled_is_asked_to_leave(start, ended, tmp_path, way):
    """By a person's mark in its folder, or by Slurm's signal; the outcome is neither good nor bad."""
    process = start(
        f"trap 'touch {tmp_path}/asked-to-leave; exit 1' TERM; touch {tmp_path}/up; while :; do sleep 0.1; done"
    )
    until = time.monotonic() + 30
    while not (tmp_path / "up").exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    if way == "mark":
        (tmp_path / "run" / "cancelled").touch()
    else:
        process.send_signal(signal.SIGTERM)
    code, outcome = ended(process)

    assert (code, outcome["outcome"]) == (143, "cancelled")
    assert (tmp_path / "asked-to-leave").exists()


def test_a_line_with_its_own_tasks_is_run_once(start, ended, tmp_path):
    """Here, with the job's Python first in PATH; what it says is in the job's own output."""
    _, outcome = ended(
        start("", launcher="batch", words=("bash", "-c", "command -v python3; echo $CLUSTERWRIGHT_HOSTS"))
    )

    assert outcome["outcome"] == "finished"
    assert (tmp_path / "out").read_text().splitlines()[:2] == [
        str(Path(sys.executable).with_name("python3")),
        ",".join(HOSTS),
    ]


def test_a_run_that_is_over_is_not_begun_again(start, ended, tmp_path):
    """A job that Slurm starts late finds nothing to do."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "ended.json").write_text('{"outcome": "cancelled"}')
    code, outcome = ended(start("exit 1"))

    assert (code, outcome) == (0, {"outcome": "cancelled"})


@pytest.mark.parametrize(("cuda", "noted"), [("false", True), ("true", False)])
def test_an_mpi_without_cuda_is_noted(tmp_path, monkeypatch, cuda, noted):
    """By ompi_info of the PATH; an MPI that takes GPU memory, or none at all, needs no note."""
    from clusterwright.onhost.supervisor.unsupervised import mpi_note

    line = f"mca:mpi:base:param:mpi_built_with_cuda_support:value:{cuda}"
    program = tmp_path / "ompi_info"
    program.write_text(f"#!/bin/sh\necho ompi:version:full:4.1.4\necho {line}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    assert mpi_note().startswith("Open MPI 4.1.4 is built without CUDA") is noted
