"""`wright plan storage`."""

import json

import pytest

from clusterwright.cli import app
from clusterwright.errors import WrightError


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """A folder and a home without a catalog of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def wright(capsys, *arguments):
    """The command as it is parsed: exit code, stdout and stderr."""
    try:
        code = app()(["plan", "storage", *map(str, arguments)], result_action="return_value")
        told = ""
    except WrightError as why:
        code, told = why.exit_code, str(why)
    said = capsys.readouterr()
    return code, said.out, said.err + told


def test_a_model_and_a_dataset_are_enough(capsys):
    """Checkpoint, reading, kinds and RAID levels; what was assumed is said on stderr."""
    asked = ("--model", "llama2-7b", "--gpus", 32, "--dataset", "2TB", "--files", "1.2M")
    code, out, err = wright(capsys, *asked)

    assert code == 0, err
    for word in ("94.34 GB", "NFS", "Lustre", "CephFS", "local NVMe", "RAID 10", "RAID 6"):
        assert word in out
    assert "at their peak" in err


def test_small_files_in_json(capsys):
    """150 GB of 1.28 million images at 20,000 a second."""
    asked = ("--params", "25.6M", "--samples-per-s", 20000, "--dataset", "150GB", "--files", "1.28M")
    document = json.loads(wright(capsys, *asked, "--json")[1])

    assert document["demand"]["opens_per_s"] == 20000
    assert document["raid"]["metadata"]["level"] == "10"
    assert {option["name"] for option in document["options"]} >= {"NFS", "Lustre"}


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("bad-quantity", ("--dataset", "2", "--params", "1B", "--samples-per-s", 1)),
        ("bad-quantity", ("--dataset", "2TB", "--params", "many", "--samples-per-s", 1, "--samples", 9)),
        ("bad-quantity", ("--dataset", "2TB", "--model", "llama2-7b", "--every", "30")),
        ("storage-size", ("--dataset", "2TB")),
        ("storage-size", ("--dataset", "2TB", "--params", "1B", "--samples-per-s", 1)),
        ("storage-size", ("--dataset", "2TB", "--model", "llama2-7b", "--stall", 0)),
        ("storage-size", ("--dataset", "2TB", "--model", "llama2-7b", "--gpus", 0)),
        ("storage-size", ("--dataset", "2TB", "--model", "llama2-7b", "--gpus-per-node", 0)),
        ("storage-size", ("--dataset", "2TB", "--model", "llama2-7b", "--epochs", 0)),
        ("storage-raid", ("--dataset", "2TB", "--model", "llama2-7b", "--disks", 0)),
        ("unknown-model", ("--dataset", "2TB", "--model", "lama2-7b")),
    ],
)
def test_bad_input_is_told(capsys, code, arguments):
    """With its code and a mend, on stderr, exit code 2."""
    exit_code, out, err = wright(capsys, *arguments)

    assert exit_code == 2
    assert f"error[{code}]" in err
    assert out == ""
