"""A file of another kind than the command reads: the error names the kind, and the command that reads it."""

import tarfile
import zipfile

import pytest

from clusterwright.config.load import load_job
from clusterwright.errors import SpecError

JOB = "name: t\ncommand: [train.py]\nnodes: 1\ntime: 10m\n"


@pytest.fixture
def folder(command, tmp_path):
    """A folder with a cluster file `site.yaml`, a job file `job.yaml` and files of other kinds."""
    command("init", "--template", "lab", "--out", "site.yaml")
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "slurm.conf").write_text("ClusterName=x\nSlurmctldHost=a\n")
    (tmp_path / "train.py").write_text("import os\nprint(os.name)\n")
    (tmp_path / "job.sh").write_text("#!/bin/bash\n#SBATCH -N 2\nsrun python train.py\n")
    (tmp_path / "slurm-7.out").write_text("step 1 loss 2\n")
    return tmp_path


@pytest.mark.parametrize(
    "line", ["plan expect", "top --batch", "render --out r", "diff", "validate site.yaml"]
)
def test_a_job_file_is_no_cluster_file(command, folder, line):
    """One error, not one for each key."""
    done = command(*line.split(), "--cluster", "job.yaml")

    assert done.returncode == 2
    assert done.stderr.startswith(
        "error[wrong-type]: job.yaml is a job file, but a cluster file is needed here\n"
    )
    assert "wright validate job.yaml" in done.stderr
    assert done.stderr.count("error[") == 1


@pytest.mark.parametrize(
    "line",
    ["train site.yaml --dry-run", "train site.yaml --nodes 2 --dry-run", "train site.yaml --local --dry-run"],
)
def test_a_cluster_file_is_no_job_file(command, folder, line):
    """Also with options, and without a cluster."""
    rest = [] if "--local" in line else ["--cluster", "site.yaml"]

    done = command(*line.split(), *rest)

    assert done.returncode == 2
    assert done.stderr.startswith(
        "error[wrong-type]: site.yaml is a cluster file, but a job file is needed here\n"
    )
    assert "--cluster site.yaml" in done.stderr
    assert done.stderr.count("error[") == 1


@pytest.mark.parametrize(
    ("file", "fix"),
    [
        ("slurm.conf", "wright lint slurm.conf"),
        ("train.py", "wright train -- python train.py"),
        ("slurm-7.out", "wright why slurm-7.out"),
        ("job.sh", "wright train job.sh"),
    ],
)
def test_validate_names_the_command_for_a_file_of_another_kind(command, folder, file, fix):
    """By its suffix."""
    done = command("validate", file)

    assert done.returncode == 2
    assert f"fix: {file} is a" in done.stderr
    assert fix in done.stderr


def test_keys_of_both_kinds_are_checked_as_before(command, folder):
    """A misplaced key does not make a file another kind."""
    (folder / "both.yaml").write_text(f"{JOB}users: {{}}\n")

    done = command("train", "both.yaml", "--local", "--dry-run")

    assert "the job file has no key `users`" in done.stderr


@pytest.mark.parametrize(
    ("line", "message", "fix"),
    [
        ("command: [python, train.py, --lr]", "starts with python", "write command: [train.py, --lr]"),
        ("command: [python3 -u train.py]", "starts with python3", "write command: [-u, train.py]"),
        ("command: [train.py --lr 1]", "one item for several words", 'write command: [train.py, --lr, "1"]'),
        ("command: [train.py, 1]", "command[1] is the number 1", 'write the value in quotes: "1"'),
        ("command: [train.py]\ngpus: 4", "has no key `gpus`", "did you mean `gpus_per_node`?"),
        ("command: [train.py]\nwalltime: 1h", "has no key `walltime`", "did you mean `time`?"),
        ("command: [train.py]\nimage: x", "has no key `image`", "did you mean `container`?"),
        (f"command: [train.py]\ngpus_per_node: 1{'0' * 24}", "must be at most", "lower the value to "),
    ],
)
def test_usual_mistakes_in_a_job_file_have_the_right_line(tmp_path, line, message, fix):
    """Keys of other tools, Python in the command, a number that no field holds."""
    (tmp_path / "job.yaml").write_text(f"name: t\nnodes: 1\ntime: 10m\n{line}\n")

    with pytest.raises(SpecError) as refused:
        load_job(tmp_path / "job.yaml")

    texts = [(finding.message, finding.fix) for finding in refused.value.findings]
    assert any(message in found and fix in mended for found, mended in texts), texts


@pytest.fixture
def files(folder):
    """The folder, with archives, weights and folders too."""
    with tarfile.open(folder / "packages.tar", "w") as archive:
        archive.add(folder / "train.py", "train.py")
    with zipfile.ZipFile(folder / "model.pt", "w") as weights:
        weights.writestr("archive/data.pkl", b"\x80\x02}q\x00.")
    (folder / "bare").write_text("slurmstepd: error: *** JOB 7 ON a CANCELLED ***\n")
    for name, file in {"etc": "slurm.conf", "run": "job.json", "logs": "a.log", "empty": ""}.items():
        (folder / name).mkdir()
        if file:
            (folder / name / file).write_text("{}\n")
    return folder


# A file, what it is, and what the fix names.
KINDS = {
    "site.yaml": ("a cluster file", "wright validate site.yaml"),
    "job.yaml": ("a job file", "wright train job.yaml"),
    "train.py": ("a Python program", "wright train -- python train.py"),
    "job.sh": ("an sbatch script", "wright train job.sh"),
    "slurm.conf": ("a file of Slurm", "wright lint slurm.conf"),
    "slurm-7.out": ("a log", "wright why slurm-7.out"),
    "bare": ("a log", "wright why bare"),
    "packages.tar": ("a tar archive", "tar -xf packages.tar"),
    "model.pt": ("a file of torch.save", "wright checkpoints convert model.pt checkpoints/step-"),
    "etc": ("a folder of Slurm's files", "wright lint etc"),
    "run": ("a folder of a run", "wright checkpoints list run"),
    "logs": ("a folder of logs", "wright why logs"),
    "empty": ("a folder", "`ls empty` shows"),
}
SAMPLE = ("job.yaml", "train.py", "model.pt")
# A command that reads files, and the files that it takes or has its own error for.
READERS = {
    "validate": ("site.yaml", "job.yaml", "job.sh"),
    "render --out r --cluster": ("site.yaml", "job.yaml", "job.sh"),
    "train --dry-run --cluster site.yaml": ("site.yaml", "job.yaml", "train.py", "job.sh"),
    "train --hostfile": (),
    "lint": ("slurm.conf", "etc", "empty", "logs", "run"),
    "why": ("slurm-7.out", "bare", "packages.tar", "etc", "run", "logs", "empty"),
    "status": ("slurm-7.out", "bare", "etc", "run", "logs", "empty"),
    "curves": ("slurm-7.out", "bare", "etc", "run", "logs", "empty"),
    "checkpoints list": ("etc", "run", "logs", "empty"),
    "checkpoints verify": ("etc", "run", "logs", "empty"),
    "plan predict": (),
    "simulate --cluster site.yaml --trace": ("slurm-7.out", "bare"),
}


@pytest.mark.parametrize(
    ("reader", "file"),
    [
        *((reader, file) for reader, taken in READERS.items() for file in SAMPLE if file not in taken),
        *(("plan predict", file) for file in KINDS if file not in SAMPLE),
    ],
)
def test_a_command_names_what_a_file_is_and_the_command_that_takes_it(command, files, reader, file):
    """For each command that reads files, and for each kind of file."""
    words = [*reader.split(), file, *(["--", "python", "train.py"] if "hostfile" in reader else [])]

    done = command(*words)

    kind, fix = KINDS[file]
    assert done.returncode == 2
    assert f"{file} is {kind}" in done.stderr
    assert fix in done.stderr


def test_a_file_to_execute_and_a_name_of_the_path_are_programs(command, files):
    """Only a file that cannot be executed is judged; a folder may have the name of a program."""
    (files / "job.sh").chmod(0o755)
    (files / "python").mkdir()

    for words in (["./job.sh", "1"], ["--", "python", "train.py"]):
        assert command("train", "--cluster", "site.yaml", "--dry-run", *words).returncode == 0


@pytest.mark.parametrize("options", [["--to", "safetensors"], []])
def test_a_file_becomes_a_checkpoint_before_it_is_converted(command, files, options):
    """The fix has both lines, with the file and the target that were typed."""
    done = command("checkpoints", "convert", "model.pt", "out", *options)

    assert done.returncode == 2
    assert "error[checkpoint-form]: model.pt is a file: " in done.stderr
    line = "wright checkpoints convert model.pt checkpoints/step-00000000 --from torch"
    second = (
        "; wright checkpoints convert checkpoints/step-00000000 out --to safetensors" if options else "\n"
    )
    assert f"fix: write {line}{second}" in done.stderr
