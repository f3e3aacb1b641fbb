"""Frequent wrong uses: each ends in an error that names the argument and a fix that works."""

import os
import re
import subprocess
import sys

import pytest


def test_the_folder_of_local_runs_cannot_be_a_file(command, tmp_path):
    """The file is not changed, and the error is not called a bug."""
    (tmp_path / "train.py").write_text("print(1)\n")

    done = command("train", "--local", "--out", "train.py", "--", "python3", "train.py")

    assert done.returncode == 2
    assert "error[file-exists]: " in done.stderr
    assert "train.py is a file" in done.stderr
    assert (tmp_path / "train.py").read_text() == "print(1)\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_bug(tmp_path, closed):
    """Some cron and service managers start programs so; the file is written all the same."""
    line = f"{sys.executable} -m clusterwright schema cluster --out s.json {closed}"
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, timeout=60, check=False)

    assert (done.returncode, done.stderr) in ((0, b""), (0, b"written: s.json\n"))
    assert (tmp_path / "s.json").read_text().startswith("{")


@pytest.mark.parametrize("words", [["python"], ["python3", "-u"], ["python", "-m"]])
def test_python_without_a_script_is_refused_before_the_start(command, words):
    """No run is created."""
    done = command("train", "--local", "--", *words)

    assert done.returncode == 2
    assert "has no script" in done.stderr
    assert "wright train -- python train.py" in done.stderr
    assert os.listdir() == []


def test_a_quoted_command_is_named_as_such(command):
    """The fix is the same command without quotes."""
    done = command("train", "--local", "--dry-run", "--", "python train.py --lr 1e-3")

    assert done.returncode == 2
    assert "is one quoted argument" in done.stderr
    assert "fix: remove the quotes: wright train --local -- python train.py --lr 1e-3" in done.stderr


def test_a_quoted_shell_line_keeps_its_quotes(command):
    """Without them, the shell would split the line at `&&`."""
    done = command("train", "--local", "--dry-run", "--", "cd src && python train.py")

    assert done.returncode == 2
    assert "quotes" not in done.stderr


@pytest.mark.parametrize("name", ["login.site.edu", "root@host", "login1", "ssh://"])
def test_a_host_in_place_of_a_cluster_file_is_named_with_its_scheme(command, name):
    """The error of a missing file would suggest to write one."""
    done = command("jobs", "--cluster", name)

    assert done.returncode == 2
    assert f"--cluster ssh://{'HOST' if name == 'ssh://' else name}\n" in done.stderr


def test_a_missing_cluster_file_remains_a_missing_file(command):
    """A path, or a name that ends in .yaml, is no host."""
    for name in ("site.yaml", "conf/site"):
        assert "error[file-unreadable]: No such file" in command("jobs", "--cluster", name).stderr


def test_no_cluster_file_names_each_path_once_and_only_what_works(command, tmp_path):
    """`train` accepts a login host, `heal` does not; the folder of the job file may be this folder."""
    (tmp_path / "job.yaml").write_text("name: t\ncommand: [train.py]\nnodes: 1\ntime: 10m\n")

    train, heal = command("train", "job.yaml", "--dry-run"), command("heal", "--plan")

    assert train.stderr.startswith("error[no-cluster-file]: no cluster file found; tried cluster.yaml (")
    assert "and Slurm on this machine" in train.stderr
    assert "ssh://HOST" in train.stderr
    assert heal.stderr.startswith("error[no-cluster-file]: no cluster file found; tried cluster.yaml (")
    assert "ssh://" not in heal.stderr


@pytest.mark.parametrize("arguments", [("why",), ("why", "-")])
def test_an_empty_input_is_no_healthy_log(command, arguments):
    """The command before the pipe has printed nothing; a text without a failure remains one."""
    empty, harmless = command(*arguments, input=""), command(*arguments, input="epoch 1 done\n")

    assert (empty.returncode, empty.stdout) == (2, "")
    assert "standard input is empty" in empty.stderr
    assert harmless.returncode == 0


def test_validate_reads_the_cluster_file_beside_a_cluster_file(command, tmp_path):
    """A missing one, or a job file in its place, is not ignored."""
    (tmp_path / "job.yaml").write_text("name: t\ncommand: [train.py]\nnodes: 1\ntime: 10m\n")
    command("init", "--template", "lab", "--out", "cluster.yaml")

    missing = command("validate", "--cluster", "nosuch.yaml", "cluster.yaml")
    swapped = command("validate", "--cluster", "job.yaml", "cluster.yaml")
    right = command("validate", "--cluster", "cluster.yaml", "cluster.yaml", "job.yaml")

    assert (missing.returncode, swapped.returncode, right.returncode) == (2, 2, 0)
    assert "nosuch.yaml" in missing.stderr
    assert "job.yaml is a job file, but a cluster file is needed here" in swapped.stderr


@pytest.mark.parametrize("line", ["jobs", "check", "diff", "logs last", "heal --plan", "status x"])
def test_a_lab_that_is_not_started_is_one_error_with_its_fix(command, tmp_path, line):
    """The file that ssh lacks is no fault of the user, and no fault of each host; the fix names the file."""
    command("init", "--template", "lab", "--out", "lab.yaml")
    text = (tmp_path / "lab.yaml").read_text()
    (tmp_path / "site.yaml").write_text(re.sub(r"(?m)^name: .*", "name: not-started", text))

    done = command(*line.split(), "--cluster", "site.yaml")

    assert (done.returncode, done.stdout) == (1, "")
    assert (
        "error[lab-unknown]: lab `not-started` is not started\nfix: start the lab with `wright lab up"
        in done.stderr
    )
    assert "config file" not in done.stderr
    assert len(done.stderr.splitlines()) <= 4


@pytest.mark.parametrize(
    "line", ["status gpt-1", "logs 123", "why gpu-node3", "checkpoints verify ckptt", "curves x"]
)
def test_a_name_that_is_nothing_here_says_what_was_tried(command, line):
    """The folder of runs and the cluster files, and how to name a cluster."""
    done = command(*line.split())

    name = line.split()[-1]
    assert done.returncode == 2
    assert (
        f"error[no-cluster-file]: `{name}` is no file here and no run in ./runs, and no cluster file"
        in done.stderr
    )
    assert "--cluster ssh://HOST" in done.stderr


def test_the_variable_of_a_missing_cluster_file_is_named(command, monkeypatch):
    """The path was not typed, so the message says where it comes from."""
    monkeypatch.setenv("CLUSTERWRIGHT_CLUSTER", "/nowhere/cluster.yaml")

    for words in (["render", "--out", "r"], ["status", "run-1"], ["check"]):
        error = command(*words).stderr
        assert "$CLUSTERWRIGHT_CLUSTER names /nowhere/cluster.yaml, which does not exist" in error
        assert "unset CLUSTERWRIGHT_CLUSTER" in error


def test_the_variable_of_a_wrong_cluster_file_is_named(command, tmp_path, monkeypatch):
    """A job file, a folder or an invalid file; not for a file that was typed."""
    (tmp_path / "job.yaml").write_text("name: t\ncommand: [train.py]\nnodes: 1\ntime: 10m\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "bad.yaml").write_text("name: [\n")

    for file in ("job.yaml", "folder", "bad.yaml"):
        monkeypatch.setenv("CLUSTERWRIGHT_CLUSTER", file)
        assert f"($CLUSTERWRIGHT_CLUSTER names {file})" in command("render", "--out", "r").stderr
        assert "($CLUSTERWRIGHT" not in command("render", "--out", "r", "--cluster", file).stderr


def test_init_creates_the_folder_of_the_file_and_removes_it_after_an_error(command, tmp_path):
    """As the other commands that write files do."""
    done = command("init", "--out", "site/cluster.yaml")

    assert done.returncode == 0
    assert (tmp_path / "site" / "cluster.schema.json").exists()


def test_the_system_of_a_bundle_is_named_as_typed(command):
    """Not with the value of the cluster file, and with the nearest release."""
    command("init")

    error = command("bundle", "--os", "ubuntu22.04", "--out", "b.tar").stderr

    assert "--os: `ubuntu22.04` is not a supported operating system" in error
    assert "fix: did you mean `ubuntu-22.04`?" in error


def test_the_example_of_bios_apply_has_the_host_and_the_setting(command):
    """NAME VALUE is written as NAME=VALUE."""
    error = command("bios", "apply", "gpu-node1", "SriovGlobalEnable", "Enabled").stderr

    assert "fix: write wright bios apply gpu-node1 SriovGlobalEnable=Enabled" in error
    assert "not a setting of the form NAME=VALUE: SriovGlobalEnable, Enabled" in error


def test_only_the_words_of_bios_apply_that_are_no_settings_are_named(command):
    """The message was that no setting is given, also where one is."""
    error = command("bios", "apply", "gpu-node1", "A=1", "B").stderr

    assert "not a setting of the form NAME=VALUE: B\n" in error


def test_a_setting_without_its_sign_is_written_with_it(command, tmp_path):
    """In place of a second job file, which nobody typed."""
    (tmp_path / "job.yaml").write_text("name: t\ncommand: [train.py]\nnodes: 1\ntime: 10m\n")

    done = command("train", "job.yaml", "--local", "--set", "time", "2h")

    assert done.returncode == 2
    assert "unexpected argument `2h` after job.yaml\nfix: write --set time=2h\n" in done.stderr


def test_heal_has_a_trial_run_of_another_name(command):
    """An operator who is told that there is none leaves the option out, and hosts are repaired."""
    done = command("heal", "--dry-run")

    assert "fix: write --plan in place of --dry-run" in done.stderr


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("guide --os windows-11 --yes", ["--os: `windows-11`", "choose one of alma-8"]),
        ("guide --hosts 99 --yes", ["--hosts: `99`", "from 1 to 16"]),
        ("bench collectives -b 8 -e 1G -g 8", ["leave out -b of nccl-tests", "leave out -g of nccl-tests"]),
        ("lint --slurm slurm-25.11.2 .", ["`slurm-25.11.2`", "write --slurm 25.11\n"]),
    ],
)
def test_the_option_is_named_and_what_to_write(command, line, named):
    """Also where the value is an answer, an option is that of another program, or a version is longer."""
    done = command(*line.split())

    assert done.returncode == 2
    assert all(text in done.stderr for text in named), done.stderr
