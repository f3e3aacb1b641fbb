"""Options of every command, errors as JSON, usage errors, completion, and `python -m clusterwright`."""

import json
import subprocess
import sys

import pytest

from clusterwright.cli import GROUPS, commands
from clusterwright.cli._global_options import apply_global_options, is_json_requested

WRIGHT = (sys.executable, "-m", "clusterwright")


@pytest.fixture
def wright(tmp_path, monkeypatch):
    """Run a command in an empty folder, without a cluster file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLUSTERWRIGHT_CLUSTER", raising=False)

    def call(*arguments):
        return subprocess.run([*WRIGHT, *arguments], capture_output=True, text=True, timeout=60, check=False)

    return call


def test_every_command_is_in_one_group():
    """A new command must be added to the overview."""
    grouped = [name for names in GROUPS.values() for name in names]

    assert sorted(grouped) == [name for name, _ in commands()]


@pytest.mark.parametrize(
    ("typed", "remaining"),
    [
        (["-q", "jobs"], ["jobs"]),
        (["jobs", "--quiet", "--json"], ["jobs", "--json"]),
        (["train", "--", "x", "-q", "--no-color"], ["train", "--", "x", "-q", "--no-color"]),
        (["--lang", "en", "jobs", "--lang=en"], ["jobs"]),
        (["jobs", "-v"], ["jobs"]),
    ],
)
def test_options_of_every_command_may_stand_anywhere_before_a_program(typed, remaining, monkeypatch):
    """What follows `--` belongs to the program of a training."""
    for name in ("CLUSTERWRIGHT_QUIET", "NO_COLOR", "CLUSTERWRIGHT_TRACEBACK"):
        monkeypatch.setenv(name, "")

    assert apply_global_options(typed) == remaining


def test_quiet_leaves_results_and_errors(wright):
    """Progress and next steps go to stderr; they are left out."""
    assert wright("init", "--template", "lab", "--out", "a.yaml").stderr
    quiet = wright("-q", "init", "--template", "lab", "--out", "b.yaml")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    assert wright("validate", "a.yaml", "-q").stderr == ""
    assert "error[no-cluster-file]" in wright("-q", "jobs").stderr


def test_errors_are_json_with_json(wright):
    """One document on stdout with the findings and the exit code; nothing on stderr."""
    failed = wright("jobs", "--json")
    document = json.loads(failed.stdout)

    assert (failed.returncode, failed.stderr) == (2, "")
    assert document["exit_code"] == 2
    assert document["errors"][0]["code"] == "no-cluster-file"
    assert document["errors"][0]["fix"]
    assert not is_json_requested(["train", "--", "program", "--json"])


@pytest.mark.parametrize(
    ("typed", "message", "fix"),
    [
        (["job"], "`wright` has no command `job`", "did you mean `jobs`? All commands: wright --help"),
        (
            ["plan", "serch"],
            "`wright plan` has no command `serch`",
            "did you mean `search`? All commands: wright plan --help",
        ),
        (["apply", "--timing"], "`wright apply` has no option --timing", "did you mean --timings?"),
        (
            ["jobs", "--folder", "x"],
            "`wright jobs` has no option --folder",
            "leave out --folder: the options are --cluster, --json",
        ),
    ],
)
def test_a_wrong_command_line_names_the_closest_word(wright, typed, message, fix):
    """Exit code 2 and the form of every other error."""
    failed = wright(*typed)

    assert failed.returncode == 2
    assert failed.stderr.startswith(f"error[usage]: {message}\nfix: {fix}\nmore: wright explain usage\n")
    assert json.loads(wright(*typed, "--json").stdout)["errors"][0]["code"] == "usage"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_and_options(wright, shell):
    """Bash itself completes with its script."""
    script = wright("completion", shell).stdout

    assert all(word in script for word in ("checkpoints", "add-hosts", "global-batch"))
    if shell == "bash":
        ask = "COMP_WORDS=(wright che) COMP_CWORD=1; _wright; echo ${COMPREPLY[*]}"
        done = subprocess.run(["bash"], input=f"{script}\n{ask}", capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["check", "checkpoints"]


def test_the_package_is_a_program(wright):
    """`python -m clusterwright` is `wright`."""
    assert wright("-V").stdout.strip() == wright("--version").stdout.strip() != ""


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["plan", "storage"], "`wright plan storage` needs --dataset (Size of the dataset, such as 2TB)"),
        (["validate"], "`wright validate` needs FILE (Cluster or job file)"),
        (["status", "a", "b"], "unexpected argument `b`"),
        (
            ["plan", "explain", "--model", "llama2-7b", "--gpu", "h100", "--gpus", "0"],
            "--gpus is 0, but must be at least 1",
        ),
    ],
)
def test_a_missing_or_extra_argument_is_named(wright, typed, message):
    """The name as the user types it, and its meaning."""
    failed = wright(*typed)

    assert failed.returncode == 2
    assert failed.stderr.startswith(f"error[usage]: {message}\n")


def test_the_option_of_a_program_is_no_misspelled_option(wright):
    """--lr is not --cluster, and an option of the program comes after --."""
    failed = wright("train", "train.py", "--lr", "1e-3")

    assert failed.stderr.startswith(
        "error[usage]: `wright train` has no option --lr\nfix: write -- before the program and its options:"
        " wright train -- python train.py --lr 1e-3\n"
    )


def test_help_is_the_help(wright):
    """As with git and kubectl."""
    assert wright("help").stdout == wright("--help").stdout != ""
