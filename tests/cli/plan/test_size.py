"""`wright plan size`."""

import json
from pathlib import Path

import pytest

from clusterwright.cli.plan._inputs import MachineOptions
from clusterwright.cli.plan._workload import Amount, Teams
from clusterwright.cli.plan.size import size
from clusterwright.errors import WrightError

EXAMPLE = Path(__file__).parents[3] / "examples" / "a100" / "cluster.yaml"
TUNING = Amount(task="sft", samples="52k", deadline="3h")


def document(capsys, **options):
    """What --json says."""
    code = size(json=True, **options)
    return code, json.loads(capsys.readouterr().out, parse_constant=pytest.fail)


def test_a_deadline_finds_a_size_and_a_bill(capsys):
    """As it is written in the documents."""
    assert size(model="llama2-7b", amount=TUNING, machine_options=MachineOptions(gpu="a100-80g")) == 0

    said = capsys.readouterr()
    for words in (
        "a100-sxm-80gb in",
        "GPU hours",
        "goodput",
        "CPU cores",
        "bill of materials",
        "total",
        "BTU/h",
    ):
        assert words in said.out
    assert "assumed --seq 2048" in said.err


def test_json_adds_up(capsys):
    """GPU-hours, nodes, the total of the bill."""
    teams = Teams(teams=3, headroom="30%")
    code, said = document(
        capsys,
        model="llama2-7b",
        amount=TUNING,
        machine_options=MachineOptions(gpu="a100-80g"),
        sharing=teams,
    )

    found = said["size"]
    assert code == 0
    assert found["gpu_hours"] == pytest.approx(found["hours"] * found["gpus"])
    assert said["nodes_to_buy"] == said["shared"]["nodes"] >= 3 * found["nodes"] / 0.7
    assert 0 < said["shared"]["waits"] < 1
    lines = [line["total"]["likely"] for line in said["bill"] if line["total"]]
    assert said["total"]["likely"] == pytest.approx(sum(lines))


def test_a_number_of_gpus_is_only_timed(capsys):
    """And is not in time where it is not: exit code 1."""
    work = Amount(task="sft", samples="5M", deadline="1h")
    code, said = document(
        capsys, model="llama2-7b", amount=work, machine_options=MachineOptions(gpu="a100-80g", gpus=8)
    )

    assert code == 1
    assert not said["in_time"]
    assert said["size"]["gpus"] == 8


def test_a_cluster_file_is_timed(capsys):
    """How long on this cluster."""
    code, said = document(
        capsys,
        model="llama2-7b",
        amount=Amount(tokens="1e8"),
        machine_options=MachineOptions(cluster=EXAMPLE),
    )

    assert code == 0
    assert said["size"]["hours"] > 0


@pytest.mark.parametrize(
    ("scenario", "words"),
    [("training", "h200-sxm-141gb"), ("science", "FP64"), ("inference", "does not fit")],
)
def test_gpus_side_by_side(scenario, words, capsys):
    """For each scenario its own figures, and why one is not enough."""
    amount = Amount() if scenario != "training" else Amount(tokens="1e8", deadline="2d")
    assert size(model="llama2-70b", amount=amount, scenario=scenario) == 0

    assert words in capsys.readouterr().out


def test_all_that_is_wrong_is_told_at_once():
    """A model, a GPU, a headroom, a scenario, a deadline."""
    with pytest.raises(WrightError) as caught:
        size(
            model="llama2-7c", amount=Amount(samples="1k", deadline="soon"),
            machine_options=MachineOptions(gpu="a1000"),
            sharing=Teams(teams=0, headroom="130%"), scenario="trainng",
        )  # fmt: skip

    codes = sorted(finding.code for finding in caught.value.findings)
    assert codes == ["bad-quantity"] * 2 + ["size-workload"] * 2 + ["unknown-gpu", "unknown-model"]
    assert caught.value.exit_code == 2
    assert "did you mean `training`" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"amount": TUNING}, "no model is given"),
        ({"model": "llama2-7b", "amount": TUNING}, "no GPU is given"),
        (
            {
                "model": "llama2-7b",
                "amount": Amount(samples="1k"),
                "machine_options": MachineOptions(gpu="h100"),
            },
            "no deadline",
        ),
        (
            {"model": "llama2-7b", "amount": TUNING, "machine_options": MachineOptions(gpu="h100", gpus=0)},
            "--gpus must be at least 1",
        ),
    ],
)
def test_what_is_missing_is_named(options, words):
    """With the option that gives it."""
    with pytest.raises(WrightError, match=words):
        size(**options)


def test_a_model_that_fits_nowhere_there_says_so():
    """70 B on one T4."""
    with pytest.raises(WrightError, match="size-does-not-fit"):
        size(
            model="llama2-70b", amount=Amount(tokens="1e9"), machine_options=MachineOptions(gpu="t4", gpus=1)
        )
