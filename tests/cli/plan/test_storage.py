"""`wright plan storage`."""

import json

import pytest


def test_a_model_and_a_dataset_are_enough(plan):
    """Checkpoint, reading, kinds and RAID levels; what was assumed is said on stderr."""
    asked = ("--model", "llama2-7b", "--gpus", 32, "--dataset", "2TB", "--files", "1.2M")
    code, out, err = plan("storage", *asked)

    assert code == 0, err
    for word in ("87.9 GiB", "NFS", "Lustre", "CephFS", "local NVMe", "RAID 10", "RAID 6"):
        assert word in out
    assert "at their peak" in err


def test_small_files_in_json(plan):
    """150 GB of 1.28 million images at 20,000 a second."""
    asked = ("--params", "25.6M", "--samples-per-s", 20000, "--dataset", "150GB", "--files", "1.28M")
    document = json.loads(plan("storage", *asked, "--json")[1])

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
        ("usage", ("--dataset", "2TB", "--model", "llama2-7b", "--stall", 0)),
        ("usage", ("--dataset", "2TB", "--model", "llama2-7b", "--gpus", 0)),
        ("usage", ("--dataset", "2TB", "--model", "llama2-7b", "--gpus-per-node", 0)),
        ("usage", ("--dataset", "2TB", "--model", "llama2-7b", "--epochs", 0)),
        ("usage", ("--dataset", "2TB", "--model", "llama2-7b", "--disks", 0)),
        ("unknown-model", ("--dataset", "2TB", "--model", "lama2-7b")),
    ],
)
def test_bad_input_is_told(plan, code, arguments):
    """With its code and a fix, on stderr, exit code 2."""
    exit_code, out, err = plan("storage", *arguments)

    assert exit_code == 2
    assert f"error[{code}]" in err
    assert out == ""
