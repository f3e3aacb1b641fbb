"""Wrong inputs of the planner: refused with what to write, where a wrong answer would look like a right one."""

import gzip

import pytest

from clusterwright.cli import app
from clusterwright.errors import WrightError

RUN = "--model llama3-8b --gpu h100 --gpus 8 --seq 4096 --global-batch 64"


def refusal(*words):
    """Return the finding about a command line."""
    with pytest.raises(WrightError) as refused:
        app()(words, result_action="return_value", exit_on_error=False, print_error=False)
    return refused.value.findings[0]


@pytest.mark.parametrize("command", ["predict", "claims", "explain --row"])
@pytest.mark.parametrize(
    ("data", "fix"),
    [
        (b"PK\x03\x04\0\0", "save it as CSV"),
        (b"%PDF-1.4\n\0", "pdftotext -layout in.bin text.txt"),
        (gzip.compress(b"a", mtime=0), "gunzip in.bin"),
        (b"a\0b", "pass a text file"),
    ],
    ids=["zip", "pdf", "gzip", "binary"],
)
def test_a_binary_file_is_no_table(command, data, fix, tmp_path, monkeypatch):
    """Not a table without columns, and not a text without claims."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.bin").write_bytes(data)

    found = refusal("plan", *command.split(), "in.bin")

    assert (found.code, found.message) == ("not-utf-8", "in.bin is not a text file")
    assert fix in found.fix


@pytest.mark.parametrize(
    ("line", "message", "fix"),
    [
        (f"explain {RUN} --recompute ful", "--recompute cannot be `ful`", "did you mean `full`?"),
        (f"explain {RUN} --software lightgbm", "--software `lightgbm` names no software", "'FSDP 2024'"),
        ("catalog gpus --catalog nosuch.toml", "nosuch.toml: No such file or directory", "--catalog FILE"),
    ],
)
def test_a_wrong_value_is_not_replaced_by_an_assumption(line, message, fix):
    """The message has the value as typed."""
    found = refusal("plan", *line.split())

    assert found.message.startswith(message)
    assert fix in found.fix


def test_a_cluster_file_and_a_gpu_exclude_each_other():
    """One of them would be ignored."""
    found = refusal("plan", "search", *RUN.split(), "--cluster", "cluster.yaml")

    assert found.message == "--cluster and --gpu exclude each other"
    assert found.fix == "remove --gpu, or remove --cluster"


def test_a_column_that_is_part_of_the_right_name_is_to_be_renamed(tmp_path, monkeypatch):
    """In `explain` as in `predict`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs.csv").write_text("model,gpu,gpus,seq,global_batch\nllama3-8b,h100,8,4096,64\n")

    for words in (("predict", "runs.csv"), ("explain", "--row", "runs.csv:2")):
        assert refusal("plan", *words).fix == "rename the column `gpu` to `gpu_type` if it has these values"


def test_a_layout_that_does_not_fit_says_so_first(capsys):
    """Before a time and an MFU that no run would reach."""
    line = "plan explain --model llama3-70b --gpu h100 --gpus 8 --seq 8192 --global-batch 8 --tp 8"
    app()(line.split(), result_action="return_value", exit_on_error=False, print_error=False)

    assert capsys.readouterr().out.splitlines()[1].startswith("does not fit into the memory of the GPUs")


@pytest.mark.parametrize(
    ("options", "message", "fix"),
    [
        ("--teams 7", "--teams is 7, but must be at most 5", "write --teams 5"),
        ("--teams 1", "--teams is 1, but must be at least 2", "write --teams 2"),
        ("--teams 3 --days -1", "--days is -1, but must be more than 0", "write --days 1"),
    ],
)
def test_a_simulation_names_the_one_value_that_is_out_of_range(options, message, fix, tmp_path, monkeypatch):
    """And the nearest that is not."""
    monkeypatch.chdir(tmp_path)
    app()(["init", "--template", "lab"], result_action="return_value", exit_on_error=False, print_error=False)

    found = refusal("simulate", *options.split())

    assert (found.message, found.fix) == (message, fix)
