"""Command lines that Cyclopts refuses: the error names the wrong word, and the fix is a line or an option to copy."""

import errno
from pathlib import Path

import pytest
from cyclopts import CycloptsError

from clusterwright.cli import app
from clusterwright.cli._global_options import apply_global_options
from clusterwright.cli._show import unwritten_fix
from clusterwright.cli._usage import usage_error
from clusterwright.errors import WrightError
from clusterwright.i18n import in_language


def finding(line):
    """Return the finding about a line."""
    with pytest.raises(CycloptsError) as caught:
        app()(line.split(), result_action="return_value", exit_on_error=False, print_error=False)
    return usage_error(caught.value).findings[0]


@pytest.mark.parametrize(
    ("line", "message", "fix"),
    [
        (
            "intt",
            "`wright` has no command `intt`",
            "did you mean `init` / `lint`? All commands: wright --help",
        ),
        (
            "submit job.yaml",
            "`wright` has no command `submit`",
            "the command is `wright train`: wright train job.yaml --follow",
        ),
        ("heal lgo", "unexpected argument `lgo`", "did you mean `log`? All commands: wright heal --help"),
        (
            "cluster.yaml validate",
            "`wright` has no command `cluster.yaml`",
            "write the command first: wright validate cluster.yaml",
        ),
        ("render --out", "--out has no value", "write a value after the option: --out PATH"),
        (
            "cancel",
            "`wright cancel` needs JOB (Name of a run, job id, `last`, or the folder of a run on this machine)",
            "for example: wright cancel gpt-20261127-101010; all options: wright cancel --help",
        ),
        ("schema jobs", "KIND cannot be `jobs`", "did you mean `job`? choose one of job, cluster"),
        ("plan fabric --nodes -3", "--nodes is -3, but must be at least 1", "write --nodes 1"),
        ("jobs --cluster a --cluster b", "--cluster is given more than once", "write --cluster once"),
        (
            "diff old.yaml new.yaml",
            "unexpected argument `new.yaml`",
            "to compare two files: wright diff new.yaml --cluster old.yaml",
        ),
        (
            "validate -",
            "`wright validate` has no option -",
            "name a file; the command reads no standard input",
        ),
    ],
)
def test_a_wrong_word_has_a_fix_to_copy(line, message, fix):
    """Commands, arguments and values."""
    found = finding(line)

    assert (found.message, found.fix) == (message, fix)


@pytest.mark.parametrize(
    ("option", "fix"),
    [
        ("--seq 8k", "write --seq 8000 or 8192"),
        ("--seq 1,024", "write --seq 1024"),
        ("--seq 4e3", "write --seq 4000"),
        ("--seq ten", "write digits only, such as --seq 8"),
        ("--seq 0", "write --seq 1"),
    ],
)
def test_a_number_in_another_spelling_is_spelled_out(option, fix):
    """Suffixes, separators of thousands and exponents are no whole numbers."""
    assert finding(f"plan search --model llama3-8b --gpu h100 --gpus 8 {option}").fix == fix


@pytest.mark.parametrize("ratio", ["1,5", "1.5:1", "1.5x"])
def test_a_ratio_in_another_spelling_is_spelled_out(ratio):
    """A decimal comma, and the forms of data sheets."""
    assert finding(f"plan fabric --nodes 64 --oversubscription {ratio}").fix == "write --oversubscription 1.5"


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        (
            "train --nnodes 2 --nproc_per_node=8 train.py",
            (
                "write --nodes 2 in place of --nnodes; write --gpus 8 in place of --nproc_per_node:"
                " wright train --nodes 2 --gpus 8 -- python train.py"
            ),
        ),
        (
            "train --nproc-per-node 8 --standalone train.py",
            (
                "write --gpus 8 in place of --nproc-per-node; leave out --standalone: Clusterwright sets it for each"
                " rank: wright train --gpus 8 -- python train.py"
            ),
        ),
        (
            "train -N 2 --gres=gpu:8 job.sh",
            (
                "write --nodes 2 in place of -N; write --gpus 8 in place of --gres:"
                " wright train --nodes 2 --gpus 8 -- job.sh"
            ),
        ),
        ("train -A team1 job.sh", "name the team with --set team=TEAM"),
        ("apply --dryrun", "write --dry-run in place of --dryrun"),
        ("check --limit gpu-node1", "write --hosts gpu-node1 in place of --limit"),
        ("jobs -o json", "write --json in place of -o"),
        ("jobs --color=never", "write --no-color in place of --color"),
        ("export --out s --kubernetes", "for Kubernetes: wright kubernetes job.yaml --out manifests"),
        (
            "train -f train.py --dry-run --lr 1e-3",
            "write -- before the program and its options: wright train -f --dry-run -- python train.py --lr 1e-3",
        ),
    ],
)
def test_an_option_of_another_tool_is_translated(line, fix):
    """All of them on a line at once; what follows -- belongs to the program."""
    assert finding(line).fix == fix


def test_suggested_options_exist():
    """An option is suggested only to a command that has it."""
    fix = finding("jobs --nproc_per_node 8").fix

    assert fix == "leave out --nproc_per_node: the options are --cluster, --json"
    assert finding("train job.yaml --zzqq").fix.startswith(
        "leave out --zzqq: the options are --nodes, --gpus,"
    )


@pytest.mark.parametrize(
    "line",
    ["intt", "render --out", "cancel", "schema jobs", "train -N 2 x", "plan search --seq 8k --model x"],
)
def test_usage_errors_are_in_the_language_of_the_user(line):
    """No English sentence under a Chinese locale."""
    with in_language("zh"):
        found = finding(line)
    for text in (found.message, found.fix):
        assert any("\u4e00" <= letter <= "\u9fff" for letter in text), text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["render", "--out", ""], "--out has no value"),
        (["render", "--out="], "--out has no value"),
        (["validate", ""], "an argument is empty"),
    ],
)
def test_an_empty_argument_is_refused(arguments, message):
    """As a path it would be the current folder; those of a program after -- are its own."""
    with pytest.raises(WrightError) as refused:
        apply_global_options(arguments)
    assert refused.value.findings[0].message == message
    assert apply_global_options(["train", "--", "x", ""]) == ["train", "--", "x", ""]


@pytest.mark.parametrize(
    ("number", "fix"),
    [
        (errno.EFBIG, "raise the limit of the size of files: ulimit -f unlimited"),
        (errno.EISDIR, "name a file in that folder, such as out/result"),
        (errno.ENOENT, "create the folder first: mkdir -p ."),
        (errno.EACCES, "choose a file in a folder that you may write to"),
    ],
)
def test_a_result_that_cannot_be_written_has_the_fix_of_its_reason(number, fix):
    """A quota is no missing right."""
    assert unwritten_fix(OSError(number, ""), Path("out")) == fix
