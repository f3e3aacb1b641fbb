"""Classes of mistakes, tried on every command: the answer names option and value, and what to write in its place.

Commands and options come from the command line itself, so that a new command joins by itself. The lines are parsed in
this process and never run.
"""

import json
import os
import re
import subprocess
import sys

import pytest
from cyclopts import CycloptsError

from clusterwright.cli import app
from clusterwright.cli._command_tree import all_commands
from clusterwright.cli._foreign_options import _EQUIVALENTS, _REASONS, foreign_fix
from clusterwright.cli._global_options import OPTIONS
from clusterwright.cli._mistakes import line_error, with_others
from clusterwright.errors import EXIT_USAGE, WrightError

COMMANDS = {" ".join(command.words): command for command in all_commands()}
WRIGHT = (sys.executable, "-m", "clusterwright")
GLOBAL = set(re.findall(r"-[-\w]+", " ".join(OPTIONS))) | {"--help"}
WRONG = {"INT": "eight", "FLOAT": "much"}
# Quantities: options of all commands that have them, and what is no value of any of them.
QUANTITIES = {
    "--wait": "5", "--time": "12:00:00", "--idle": "2hh", "--deadline": "3", "--every": "30", "--for": "1h30",
    "--memory": "64", "--dataset": "2000", "--nic-rate": "400G", "--rate": "25", "--server-nic": "100",
    "--psu": "2200", "--rack-limit": "40KW", "--headroom": "much", "--busy": "-1%", "--slow-nodes": "x",
    "--samples": "many", "--tokens": "1 billion", "--month": "november", "--batch": "all", "--hosts": "gpu[1-",
}  # fmt: skip
OTHER_TOOLS = sorted(
    {
        name if name.startswith("-") and not name.startswith("--") else name.replace("_", "-")
        for names in (*_EQUIVALENTS.values(), *_REASONS)
        for name in names.split()
    }
)
ANY_OPTION = ("why", "lab shell", "train", "lab fault")  # or take it as a text, or as the start of a program
JSON_COMMANDS = ["jobs", "plan search", "bench network", "validate", "heal approve"]


@pytest.fixture(autouse=True)
def _folder_without_a_cluster(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLUSTERWRIGHT_CLUSTER", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))  # no Slurm


def error_of(words):
    """Return the error of a line, whose command does not run."""
    try:
        app().parse_args(words, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        return line_error(error, app())
    except WrightError as error:
        return with_others(error, words, app())
    pytest.fail(f"accepted: {words}")


def options_of(name):
    """Return every name of the options of a command."""
    return {option for argument in COMMANDS[name].options for option in argument.names}


def valued(name):
    """Return the options of a command that have a value."""
    return [
        option
        for option in COMMANDS[name].options
        if option.value and not option.is_positional and option.names[0].startswith("--")
    ]


def wrong_value(option):
    """Return a value that no option of this kind takes; empty for one that takes any text."""
    if "|" in option.value:
        return "no-such-choice"
    return WRONG.get(option.value) or (QUANTITIES.get(option.names[0], "") if option.value == "STR" else "")


def wrong_suggestions(name, text, *typed):
    """Return the options that a fix suggests for a command and that the command does not have."""
    own = re.sub(
        r"wright (?!" + name + r"\b)[^;`]*", "", text
    )  # a line of another command has that one's options
    suggested = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", own)) - set(typed)
    return suggested - options_of(name) - GLOBAL


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unknown_option_has_a_fix_that_is_no_pointer_to_the_help(name):
    """The fix names the option, and options that the command has."""
    if name in ANY_OPTION:
        return
    error = error_of([*name.split(), "--zzqq", "--zzyy=1"])

    text = next(finding for finding in error.findings if "has no option" in finding.message)
    assert error.exit_code == EXIT_USAGE
    assert "--zzqq, --zzyy" in text.message
    assert text.fix.startswith("leave out --zzqq, --zzyy: ")
    assert wrong_suggestions(name, text.fix, "--zzqq", "--zzyy") == set()


@pytest.mark.parametrize("name", [name for name in COMMANDS if any(map(wrong_value, valued(name)))])
def test_all_wrong_values_of_a_line_are_named_at_once(name):
    """Each with its option, together with an option that the command does not have."""
    wrong = {option.names[0]: wrong_value(option) for option in valued(name) if wrong_value(option)}
    words = [*name.split(), *(f"{option}={value}" for option, value in wrong.items()), "--zzqq"]

    error = error_of(words)

    messages = [finding.message for finding in error.findings]
    for option, value in wrong.items():
        assert any(option in message and f"`{value}`" in message for message in messages), (option, messages)
    assert any("--zzqq" in message for message in messages)
    assert error.exit_code == EXIT_USAGE


@pytest.mark.parametrize("name", COMMANDS)
def test_a_misspelled_option_has_the_right_one_as_its_fix(name):
    """Two letters are exchanged."""
    for option in COMMANDS[name].options:
        right = option.names[0]
        typed = f"{right[:3]}{right[4:5]}{right[3:4]}{right[5:]}"
        if not right.startswith("--") or len(right) < 7 or typed in options_of(name):
            continue
        if name in ANY_OPTION:
            continue
        words = [*name.split(), typed, *(["1"] if option.value else [])]

        assert f"did you mean {right}?" in str(error_of(words)), words


@pytest.mark.parametrize("name", COMMANDS)
def test_what_replaces_an_option_of_another_tool_exists(name):
    """For every option of the tables of other tools."""
    for option in set(OTHER_TOOLS) - options_of(name):
        fix = foreign_fix(name, [option, "x1"], options_of(name))

        assert wrong_suggestions(name, fix, option) == set(), (option, fix)


@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if command.options])
def test_all_missing_arguments_are_named_at_once(name):
    """In one finding, with a line to copy."""
    required = [option.names[0] for option in COMMANDS[name].options if option.required]
    if not required:
        return
    findings = [finding for finding in error_of(name.split()).findings if finding.code == "usage"]

    assert len(findings) == 1
    assert all(option in findings[0].message for option in required)
    assert f"wright {name}" in findings[0].fix


@pytest.mark.parametrize("name", COMMANDS)
def test_no_number_is_rounded_and_no_address_is_a_path(name):
    """`heal approve 1.5` would approve action 2."""
    for option in valued(name):
        text = {"INT": "1.5", "PATH": "https://example.org/x.yaml"}.get(option.value)
        if text:
            message = str(error_of([*name.split(), f"{option.names[0]}={text}"]))
            assert option.names[0] in message
            assert text in message


@pytest.mark.parametrize("name", COMMANDS)
def test_a_number_below_the_range_of_its_option_is_named_at_once(name):
    """With an option that the command does not have; only the seed of a random order may be any number."""
    numbers = [
        option
        for option in COMMANDS[name].options
        if option.value in ("INT", "FLOAT") and option.names[0] != "--seed"
    ]
    for option in numbers:
        words = ["-1"] if option.is_positional else [f"{option.names[0]}=-1"]
        error = error_of([*name.split(), *words, *([] if name in ANY_OPTION else ["--zzqq"])])

        named = "-1" if option.is_positional else option.names[0]
        assert any(named in str(finding) and "-1" in finding.message for finding in error.findings), words
        assert name in ANY_OPTION or "--zzqq" in str(error)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("plan power --pue", "0.8"), ("plan explain --zero", "5"), ("plan explain --recompute", "partial"),
        ("plan explain --precision", "bfloat17"), ("plan storage --stall", "5"),
        ("plan cost --figure", "electricity=cheap"), ("plan cost --figure", "pue=3:2:1"),
        ("plan cost --hours", "10000"), ("plan fabric --switch", "64x400Gb"),
        ("plan fabric --oversubscription", "0.5"), ("web --port", "80800"), ("dev --port", "70000"),
        ("tune network --budget", "0"), ("simulate --teams", "9"), ("simulate --days", "1000"),
    ],
)  # fmt: skip
def test_a_value_beyond_the_range_of_its_option_is_named_at_once(line, value):
    """The command itself would refuse it only when all else is right."""
    error = error_of([*line.split(), value, "--zzqq"])

    option = line.split()[-1]
    assert any(option in str(finding) and value in finding.message for finding in error.findings), error
    assert "--zzqq" in str(error)


@pytest.mark.parametrize("text", ["BF16", "bfloat16", "16-mixed", "float8"])
def test_every_spelling_of_a_precision_in_a_table_is_one_of_the_option(text):
    """What `wright plan predict` reads, `wright plan explain` takes."""
    error = error_of(["plan", "explain", "--precision", text, "--zzqq"])

    assert "precision" not in "".join(finding.message for finding in error.findings)


def test_a_missing_file_and_names_that_nothing_has_are_found_with_other_mistakes(tmp_path):
    """Files by their path, GPUs and models by the catalog, checks by their names, hosts by the cluster file."""
    (tmp_path / "jobs.csv").write_text("")
    plan = str(
        error_of(
            ["plan", "search", "--model", "nope", "--gpu", "h1000", "--seq", "8k", "--catalog", "no.toml"]
        )
    )
    check = str(
        error_of(["check", "--only", "munge_betwen", "--on", "nightly", "--hosts", "gpu[", "--wait", "5"])
    )
    table = str(error_of(["plan", "predict", "job.csv", "--zz"]))

    assert all(text in plan for text in ("no.toml", "--seq: `8k`", "needs --global-batch"))
    assert all(text in check for text in ("`munge_betwen`", "`nightly`", "`gpu[`", "--wait: `5`"))
    assert "no such file: job.csv\nfix: did you mean `jobs.csv`?" in table


def test_a_missing_cluster_file_is_found_with_other_mistakes():
    """For commands that cannot work without one, also if none is named."""
    tune, train = (
        str(error_of(line.split())) for line in ("tune network --nic-rate 400", "train --time 3 --local")
    )

    assert "--nic-rate: `400` is not a rate" in tune
    assert "error[no-cluster-file]" in tune
    assert "error[no-cluster-file]" not in train


def test_a_path_that_the_variable_names_is_no_path_that_was_searched(command):
    """And the fix does not propose to export the variable."""
    done = command("render", "--out", "x", env=os.environ | {"CLUSTERWRIGHT_CLUSTER": "/no/prod.yaml"})

    assert "$CLUSTERWRIGHT_CLUSTER names /no/prod.yaml, which does not exist" in done.stderr
    assert "fix: correct the variable" in done.stderr
    assert "export" not in done.stderr


def test_a_wrong_operating_system_is_the_typed_one():
    """It is judged without the cluster file, whose own system is right."""
    error = str(error_of(["bundle", "--out", "b.tar", "--os", "ubuntu22.04", "--zz"]))

    assert (
        "--os: `ubuntu22.04` is not a supported operating system\nfix: did you mean `ubuntu-22.04`?" in error
    )


def test_the_fix_of_a_setting_without_an_equals_sign_has_the_typed_host(command):
    """`NAME VALUE` becomes NAME=VALUE."""
    done = command("bios", "apply", "gpu1", "SriovGlobalEnable", "Enabled")

    assert "fix: write wright bios apply gpu1 SriovGlobalEnable=Enabled" in done.stderr


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("cancel 101 102", "run the command for each JOB: wright cancel 101; wright cancel 102"),
        (
            "heal approve 3 4",
            "run the command for each ID: wright heal approve 3; wright heal approve 4",
        ),
        ("logs --tail 100", "wright logs JOB | tail -n 100"),
        ("image build --out x -t me/gpt:latest", "write --tag me/gpt:latest in place of -t"),
        (
            "image build --out x -f Dockerfile",
            "leave out -f and the folder: the command writes the Dockerfile",
        ),
        ("apply -i hosts.ini", "leave out -i: `hosts.ini` is not a cluster file"),
        ("apply -i site.yaml", "write --cluster site.yaml in place of -i"),
    ],
)
def test_the_fix_has_the_typed_values_and_works(line, fix):
    """Numbers of jobs and lines, and a file only where it can be one of the cluster."""
    assert fix in str(error_of(line.split()))


def test_an_unknown_group_is_named_as_one(tmp_path):
    """Not only as a name."""
    cluster = tmp_path / "cluster.yaml"
    assert subprocess.run([*WRIGHT, "init", "--out", str(cluster)], check=False).returncode == 0
    error = str(error_of(["add-hosts", "h900", "gpu[3-", "--cluster", str(cluster)]))

    assert "there is no node group `h900`" in error
    assert "`gpu[3-`" in error


def test_an_error_of_a_command_has_the_other_mistakes_of_the_line(command, tmp_path):
    """The release is judged by the command, the file by the line, or the other way round."""
    done = command("lint", "/no/slurm.conf", "--slurm", "99.99", "--root", "nowhere")

    assert done.returncode == 2
    assert "`99.99`" in done.stderr
    assert "/no/slurm.conf" in done.stderr


def test_paths_that_no_folder_can_have_are_missing(tmp_path):
    """Too long, below a file, and in a folder without such names."""
    (tmp_path / "file").write_text("")
    for path in ("x" * 5000, "file/x", "no/such/x"):
        assert f"no such file: {path[:200]}\n" in str(error_of(["plan", "predict", path, "--zz"]))


def test_a_mistake_is_named_once():
    """Cyclopts and the search for the others find it."""
    for line in (
        "heal approve 1.5",
        "plan power --gpu h100 --rack-limit 40",
        "bios show a[ --zz",
        "schema x",
    ):
        messages = [finding.message for finding in error_of(line.split()).findings]
        assert len(messages) == len(set(messages)), messages


@pytest.mark.parametrize("name", JSON_COMMANDS)
def test_all_mistakes_are_in_the_document(name, command):
    """With --json."""
    done = command(
        *name.split(), "--zzqq", "--cluster", "no.yaml", "--json" if "--json" in options_of(name) else "-q"
    )

    assert done.returncode == 2
    if "--json" in options_of(name):
        document = json.loads(done.stdout)
        assert document["exit_code"] == 2
        messages = " ".join(error["message"] for error in document["errors"])
        assert "--zzqq" in messages
        assert "no.yaml" in messages
    else:
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("--nnodes 2 --nproc_per_node 8 train.py", "--nodes 2 --gpus 8 -- python train.py"),
        ("--nnodes=2 --nproc-per-node=8 train.py --lr 1", "--nodes 2 --gpus 8 -- python train.py --lr 1"),
        ("--standalone --nproc_per_node 4 train.py", "--gpus 4 -- python train.py"),
        ("--rdzv_backend c10d --nnodes 2 -- torchrun train.py", "--nodes 2 -- torchrun train.py"),
        ("--num_machines 2 --num_processes 8 --local a.py", "--nodes 2 --gpus 8 --local -- python a.py"),
        ("-N 2 --gres=gpu:8 -t 2h ./a.out -x 1", "--nodes 2 --gpus 8 --time 2h -- ./a.out -x 1"),
    ],
)
def test_a_line_of_another_launcher_is_one_of_train(line, meant):
    """The fix has the whole line, which works as it is, with the numbers that were typed."""
    fix = error_of(["train", *line.split()]).findings[0].fix

    assert fix.endswith(f": wright train {meant}")


def test_an_unknown_option_before_the_program_has_no_line():
    """Whether the next word is its value or the program is not known."""
    fix = error_of(["train", "--frobnicate", "2", "train.py"]).findings[0].fix

    assert "-- " not in fix


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("checkpoints convert a b --to pytorch", "did you mean `torch`? choose one of torch, "),
        ("checkpoints convert a b --to HF", "did you mean `safetensors`? choose one of safetensors, "),
        (
            "checkpoints convert a b --to safetensor",
            "did you mean `safetensors`? choose one of safetensors, ",
        ),
        ("init --template dgx-h100", "did you mean `hgx`? choose one of hgx, "),
        ("upgrade --driver latest", "such as 580.95.05"),
        ("upgrade --slurm latest", "25.11, 26.05"),
        ("cancel 101 102", "wright cancel 101; wright cancel 102"),
        ("status a b --cluster c", "wright status a --cluster c; wright status b --cluster c"),
        ("cancel 1 2 3 4", 'for name in 1 2 3 4; do wright cancel "$name"; done'),
        ("logs --tail 100 -f worker-0", "wright logs worker-0 | tail -n 100"),
        ("logs --tail", "wright logs JOB | tail -n 20"),
        ("image build -t me/gpt --out o", "write --tag me/gpt in place of -t"),
        ("image build -f Dockerfile .", "leave out -f and the folder: the command writes the Dockerfile"),
    ],
)
def test_a_fix_has_what_was_typed(line, fix):
    """The nearest choice first, a line for each job, the number and the name of the line."""
    assert fix in error_of(line.split()).findings[0].fix


@pytest.mark.parametrize(
    "words", [["init", "--out"], ["schema", "cluster", "--out"], ["report", "team", "--html"]]
)
def test_a_result_below_a_file_is_named_with_the_other_mistakes(words, tmp_path):
    """A missing folder is no mistake, as the commands create it."""
    (tmp_path / "file").write_text("")

    messages = [finding.message for finding in error_of([*words, "file/a.html", "--frobnicate"]).findings]

    assert f"{words[-1]}: {tmp_path}/file is a file, not a folder" in messages
    assert len(error_of([*words, "new/a.html", "--frobnicate"]).findings) == len(messages) - 1


def test_a_folder_is_no_page(tmp_path):
    """The fix is a file in it."""
    (tmp_path / "pages").mkdir()

    findings = error_of(["curves", "last", "--html", "pages", "--frobnicate"]).findings

    assert [finding.fix for finding in findings if finding.code == "not-writable"] == [
        "name a file in that folder, such as pages/result.html"
    ]
