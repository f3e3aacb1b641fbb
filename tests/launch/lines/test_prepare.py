"""A job with a launch line is prepared: notes on each change, and what the script parses decides its local rank."""

import pytest

from clusterwright.config.job import Job
from clusterwright.launch.lines.prepare import prepare
from clusterwright.onhost.adapters.local_rank import with_local_rank

LAUNCH = ["python", "-m", "torch.distributed.launch", "--nproc_per_node=2"]
WRAPPED = ("--use_env", "-m", "clusterwright.onhost.adapters.local_rank", "--local_rank")
UNDERSCORE = "import argparse\nargparse.ArgumentParser().add_argument('--local_rank', type=int)\n"


@pytest.fixture
def prepared(tmp_path, cluster):
    """`prepared(program, text)`: the job with this program, whose train.py has this text, prepared."""

    def call(program, text=None, *, is_local=False, **fields):
        if text is not None:
            (tmp_path / "train.py").write_text(text)
        values = {
            "name": "train", "program": program, "launcher": "host", "time": "10m", "nodes": 2,
            "gpus_per_node": 2, "code": {"folder": "."}, **fields,
        }  # fmt: skip
        job = Job.model_validate(values, strict=False)
        found = prepare(job, None if is_local else cluster, tmp_path)
        return found.job, [str(note) for note in found.notes]

    return call


def test_one_line_says_what_was_rewritten(prepared):
    """With the line that runs."""
    job, notes = prepared(["torchrun", "--node_rank=0", "--nnodes=4", "train.py"])

    assert job.program == ("torchrun", "--nnodes=2", "train.py")
    assert len(notes) == 1
    assert "--node_rank=0 --nnodes=4 contradict the allocation (2 nodes, 2 ranks each)" in notes[0]
    assert "runs `torchrun --nnodes=2 train.py`" in notes[0]


def test_a_line_that_fits_has_no_notes(prepared):
    """And is not changed."""
    job, notes = prepared(["torchrun", "--nproc_per_node=2", "train.py"], "print(1)\n")

    assert (job.program, notes) == (("torchrun", "--nproc_per_node=2", "train.py"), [])


def test_a_script_that_parses_an_underscore_gets_it(prepared):
    """Torch 2 spells the option with a dash, which argparse refuses."""
    job, notes = prepared([*LAUNCH, "train.py", "--lr", "1"], UNDERSCORE)

    assert job.program == (*LAUNCH, *WRAPPED, "train.py", "--lr", "1")
    assert "--local_rank, which it gets" in notes[0]


def test_a_module_that_parses_an_underscore_gets_it(prepared):
    """`-m` of the launcher is passed to Python instead."""
    job, _ = prepared([*LAUNCH, "-m", "train", "--lr", "1"], UNDERSCORE)

    assert job.program == (*LAUNCH, *WRAPPED, "-m", "train", "--lr", "1")


def test_a_parser_in_another_file_of_the_project_counts(prepared, tmp_path):
    """The script imports it."""
    (tmp_path / "options.py").write_text(UNDERSCORE)
    job, _ = prepared([*LAUNCH, "train.py"], "import options\n")

    assert job.program == (*LAUNCH, *WRAPPED, "train.py")


def test_a_script_that_parses_no_local_rank_reads_the_variable(prepared):
    """With --use-env; a line for a shell too."""
    job, notes = prepared([*LAUNCH, "train.py"], "import os\nprint(os.environ['LOCAL_RANK'])\n")
    shell, _ = prepared(["bash", "-c", " ".join([*LAUNCH, "train.py"])])

    assert job.program == (*LAUNCH[:3], "--use_env", "--nproc_per_node=2", "train.py")
    assert "does not parse --local-rank" in notes[0]
    assert shell.program[2] == " ".join(job.program)


def test_a_script_that_parses_the_dash_or_a_line_with_use_env_is_unchanged(prepared):
    """Both already fit torch 2."""
    dash, _ = prepared([*LAUNCH, "train.py"], UNDERSCORE.replace("local_rank", "local-rank"))
    with_env, notes = prepared([*LAUNCH, "--use-env", "train.py"])

    assert dash.program == (*LAUNCH, "train.py")
    assert (with_env.program, notes) == ((*LAUNCH, "--use-env", "train.py"), [])


def test_a_script_that_cannot_be_read_is_said(prepared):
    """What it will get, and how to change that."""
    job, notes = prepared([*LAUNCH, "/nowhere/train.py"])

    assert job.program == (*LAUNCH, "/nowhere/train.py")
    assert "cannot be read here" in notes[0]


def test_the_option_stands_before_the_script_s_own_arguments():
    """As torch.distributed.launch puts it."""
    assert with_local_rank(["--local_rank", "a.py", "x"], "3") == ["a.py", "--local_rank=3", "x"]
    assert with_local_rank(["--local_rank", "-m", "a.b", "x"], "3") == ["-m", "a.b", "--local_rank=3", "x"]


@pytest.mark.parametrize(
    ("program", "command"),
    [
        (["torchrun", "--nnodes=2", "--node_rank=0", "train.py", "--lr", "1"], ("train.py", "--lr", "1")),
        (["bash", "-c", "torchrun --nproc_per_node=2 -m train"], ("-m", "train")),
        (["python", "-m", "torch.distributed.run", "train.py"], ("train.py",)),
    ],
)
def test_on_this_machine_the_supervisor_starts_the_ranks_of_torchrun(prepared, program, command):
    """The script is the job's command, and --max-restarts the job's restarts."""
    job, notes = prepared(program, is_local=True)

    assert (job.command, job.program, job.launcher) == (command, None, "agent")
    assert "launcher `agent` starts" in notes[-1]


def test_restarts_of_the_line_are_those_of_the_job(prepared):
    """Where the job names none itself."""
    program = ["torchrun", "--max_restarts=7", "train.py"]

    assert prepared(program, is_local=True)[0].recovery.restarts == 7
    assert prepared(program, is_local=True, recovery={"restarts": 1})[0].recovery.restarts == 1


@pytest.mark.parametrize("program", [["srun", "python", "train.py"], ["torchrun", "--no-python", "./a.out"]])
def test_any_other_line_keeps_its_launcher(prepared, program):
    """Which this machine refuses."""
    assert prepared(program, is_local=True)[0].program == tuple(program)


def test_a_script_that_cannot_run_is_warned_about_before_it_is_submitted(prepared):
    """With the line; also where the job has a command."""
    _, undefined = prepared(["torchrun", "train.py"], "print(os.environ)\n")
    _, syntax = prepared(None, "x = (\n", command=["train.py"], launcher="agent")

    assert undefined == ["warning: train.py:1: `os` is not defined; add `import os`"]
    assert syntax[0].startswith("warning: train.py:1: ")
