"""Mistakes in the program after `wright train` are named before anything starts, with the line to type."""

import pytest

from clusterwright.config.job import Code, Job
from clusterwright.errors import WrightError
from clusterwright.launch.local import require_supervised
from clusterwright.launch.resolve import Overrides, resolve_job
from clusterwright.launch.typed_program import require_program, require_script

BATCH = """#!/bin/bash
#SBATCH -N 2
#SBATCH --gres=gpu:a100:8
#SBATCH --output=x.out
module load python
srun python train.py --lr 1e-3
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with a script, a batch script and an executable script."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("print(1)\n")
    (tmp_path / "job.sh").write_text(BATCH)
    (tmp_path / "run.sh").write_text("#!/bin/bash\n./a.out\n")
    (tmp_path / "mpi.py").write_text("#!/usr/bin/env python3\n")
    (tmp_path / "mpi.py").chmod(0o755)


def refusal(call, *arguments, **options):
    """Return the fix of the error that a call raises."""
    with pytest.raises(WrightError) as refused:
        call(*arguments, **options)
    return refused.value.findings[0].fix


@pytest.mark.parametrize(
    ("line", "options", "fix"),
    [
        ("train.py --lr 1e-3", ["--local"], "wright train --local -- python train.py --lr 1e-3"),
        ("train.py", [], "wright train -- python train.py"),
        ("job.sh", [], "wright train --nodes 2 --gpus 8 -- python train.py --lr 1e-3 (left out, as"),
        ("job.sh", ["--nodes", "4"], "wright train --nodes 4 --gpus 8 -- python"),
        ("train.py", ["--local", "--gpus", "4"], "wright train --local --gpus 4 -- python train.py"),
    ],
)
def test_a_script_is_no_program(line, options, fix):
    """A Python script without python, and a batch script whose #SBATCH lines would be lost."""
    assert fix in refusal(require_program, line.split(), options)


@pytest.mark.parametrize("line", ["./mpi.py", "run.sh", "bash job.sh", "a.out", "python train.py"])
def test_programs_remain_programs(line):
    """An executable script, one without #SBATCH lines, and one that bash runs."""
    assert require_program(line.split()) is None


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("srun python train.py", "leave it out: wright train --local -- python train.py"),
        ("mpirun -np 8 python3 train.py x", "leave it out: wright train --local -- python3 train.py x"),
        ("./run.sh", "write its Python script: wright train --local -- python train.py; or remove --local"),
    ],
)
def test_what_a_local_run_cannot_start_has_no_fix_in_a_circle(line, fix):
    """The fix is not another launcher, which would refuse the program too."""
    job = resolve_job(line.split(), Overrides(), None).job

    assert refusal(require_supervised, job) == fix


def test_a_missing_script_is_named_before_the_start(tmp_path):
    """With the script of a similar name; one outside the copied code may exist on the hosts."""
    job = Job(name="t", command=("trian.py",), time="1h", code=Code(folder="."))

    assert refusal(require_script, job, tmp_path) == "did you mean `train.py`?"
    assert "--code FOLDER" in refusal(
        require_script, job.model_copy(update={"command": ("x/y.py",)}), tmp_path
    )
    for command in (("train.py",), ("-m", "package.module"), ("/shared/train.py",)):
        require_script(job.model_copy(update={"command": command}), tmp_path)
    require_script(job.model_copy(update={"code": None}), tmp_path)


@pytest.mark.parametrize(
    ("fields", "assignments", "place"),
    [
        ({"time": "5hours"}, (), "--time 5hours"),
        ({"gpus_per_node": -1}, (), "--gpus -1"),
        ({"array": "0-9%"}, (), "--array 0-9%"),
        ({}, ("recovery.hangs=ten",), "--set recovery.hangs=ten"),
    ],
)
def test_the_place_of_an_error_is_the_option_as_typed(tmp_path, fields, assignments, place):
    """Not a line of JSON that the user never wrote; what the job file says has its place there."""
    (tmp_path / "job.yaml").write_text("name: t\ncommand: [train.py]\nnodes: 0\ntime: 1h\n")
    with pytest.raises(WrightError) as refused:
        resolve_job(["job.yaml"], Overrides(fields, assignments), None)

    places = [str(place) for finding in refused.value.findings for place in finding.places]
    assert sorted(places) == sorted([place, "job.yaml:3:8  nodes: 0"])
