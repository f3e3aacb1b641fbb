"""Several runs of one job."""

import io
import subprocess
import tarfile

import pytest

from clusterwright.launch import arrays
from clusterwright.launch.script import script


@pytest.mark.parametrize(
    ("text", "numbers"), [("0-3%2", [0, 1, 2, 3]), ("1,5,5", [1, 5]), ("0-6:3,9", [0, 3, 6, 9])]
)
def test_an_array_has_the_numbers_that_sbatch_would_give_it(a_job, text, numbers):
    """Each run knows its own, and so do its successors."""
    runs = arrays.expand(a_job(array=text))

    assert [number for number, _ in runs] == numbers
    assert [job.environment.variables["SLURM_ARRAY_TASK_ID"] for _, job in runs] == [str(n) for n in numbers]
    assert arrays.range_of(a_job(array=text)) == text


def test_a_sweep_has_a_run_for_each_combination(a_job):
    """Of a recipe in its arguments, of a command at the end of its line."""
    sweep = {"lr": [0.1, 0.01], "nesterov": [True, False]}
    of_recipe = arrays.expand(a_job(sweep=sweep))
    of_command = arrays.expand(a_job(recipe=None, command=["train.py"], sweep=sweep))

    assert [job.arguments for _, job in of_recipe][1] == {"lr": 0.1, "nesterov": False}
    assert [job.command for _, job in of_command][2] == ("train.py", "--lr=0.01", "--nesterov=true")
    assert arrays.range_of(a_job(sweep=sweep)) == "0-3"
    assert [job.name for _, job in of_recipe] == ["gpt-0", "gpt-1", "gpt-2", "gpt-3"]


def test_a_task_takes_on_its_run_and_becomes_its_script(a_job, cluster, tmp_path):
    """By bash itself: the number is found, the name is told to Slurm, the script begins in its own folder."""
    folder, run = tmp_path / "gpt-array", tmp_path / "gpt-7-x"
    folder.mkdir()
    run.mkdir()
    (folder / "runs").write_text("17 other\n7 gpt-7-x\n")
    (run / "job.sh").write_text("echo $PWD; env | grep ^TOLD")
    text = arrays.script(script(a_job(), cluster, str(run)), "gpt-array", str(folder), "7,17%1")
    told = 'scontrol() { export TOLD="$*"; }\n' + text
    env = {"PATH": "/usr/bin:/bin", "SLURM_ARRAY_TASK_ID": "7", "SLURM_JOB_ID": "99"}
    subprocess.run(["bash"], input=told, env=env, text=True, check=True)

    assert (run / "slurm-99.out").read_text().splitlines() == [
        str(run),
        "TOLD=update jobid=99 jobname=gpt-7-x",
    ]
    assert "#SBATCH --array=7,17%1\n" in text
    assert f"#SBATCH --output={folder}/slurm-%A_%a.out\n" in text
    assert "#SBATCH --job-name=gpt-array\n" in text


def test_files_links_and_folders_are_in_one_archive():
    """As tar reads it."""
    data = arrays.packed({"a/job.sh": "x"}, {"a/code": "../code"}, ["a/logs"])
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        found = {entry.name: entry for entry in tar}

    assert (found["a/logs"].isdir(), found["a/code"].linkname, found["a/job.sh"].size) == (True, "../code", 1)
