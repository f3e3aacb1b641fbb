"""One model, one number of GPUs, one batch: one figure in `plan size`, `search`, `explain` and `predict`."""

import csv
import io
import json

import pytest

from clusterwright.cli.plan._inputs import MachineOptions, Work
from clusterwright.cli.plan._workload import Amount
from clusterwright.cli.plan.explain import RunOptions, explain
from clusterwright.cli.plan.predict import predict
from clusterwright.cli.plan.search import search
from clusterwright.cli.plan.size import size
from clusterwright.plan.assumptions import STACK


def _json(capsys, command, **options):
    command(json=True, **options)
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("model", "gpu", "gpus", "seq", "batch"),
    [
        ("llama2-7b", "a100-sxm-80gb", 8, 2048, 64),  # the first try of a fine-tuning guide
        ("llama2-7b", "a100-sxm-80gb", 32, 2048, 64),
        ("llama3-70b", "h100-sxm-80gb", 64, 8192, 128),  # pipeline stages
        ("mixtral-8x7b", "h100-sxm-80gb", 32, 4096, 128),  # experts
        ("llama2-7b", "v100-sxm2-32gb", 16, 2048, 64),  # without bf16
        ("llama2-7b", "t4", 8, 2048, 64),  # only with CPU offload
    ],
)
@pytest.mark.parametrize("task", ["pretrain", "sft"])
def test_four_commands_have_one_figure(model, gpu, gpus, seq, batch, task, capsys, tmp_path):
    """The task changes the data and the defaults of size, never the speed of the same training."""
    where = MachineOptions(gpu=gpu, gpus=gpus)
    amount = Amount(task=task, tokens="1e9", seq=str(seq), global_batch=str(batch))
    table = tmp_path / "runs.csv"
    table.write_text(f"model,gpu_type,num_gpus,seq_len,global_batch\n{model},{gpu},{gpus},{seq},{batch}\n")

    sized = _json(capsys, size, model=model, amount=amount, machine_options=where)["size"]
    found = _json(capsys, search, work=Work(model=model, seq=seq, global_batch=batch), machine_options=where)
    run_options = RunOptions(model=model, seq=seq, global_batch=batch)
    explained = _json(capsys, explain, run_options=run_options, machine_options=where)
    assert predict(table) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))

    figure = found["best"]["tokens_per_s_per_gpu"]
    assert sized["tokens_per_s"] / gpus == pytest.approx(figure)
    assert explained["tokens_per_s_per_gpu"] == pytest.approx(figure)
    assert float(row["predicted_tokens_per_s_per_gpu"]) == pytest.approx(figure, rel=1e-4)
    assert sized["layout"] == found["best"]["layout"] == explained["run"]["layout"]


def test_each_output_states_what_its_figure_is_based_on(capsys, tmp_path):
    """Software, sharding, recomputation, offload: in one line, the same in all four."""
    where = MachineOptions(gpu="a100-sxm-80gb", gpus=8)
    table = tmp_path / "runs.csv"
    table.write_text("model,gpu_type,num_gpus,seq_len,global_batch\nllama2-7b,a100-sxm-80gb,8,2048,64\n")

    size(model="llama2-7b", amount=Amount(samples="52k"), machine_options=where)
    search(work=Work(model="llama2-7b", seq=2048, global_batch=64), machine_options=where)
    explain(run_options=RunOptions(model="llama2-7b", seq=2048, global_batch=64), machine_options=where)
    predict(table)

    line = (
        f"based on: {STACK.family} of {STACK.year}; sharding: optimizer states (ZeRO 1); recomputation: selective; "
        "CPU offload: none; pipeline schedule: none; bf16, adam, gradients of 4 bytes"
    )
    assert capsys.readouterr().out.count(line) == 4


def test_other_software_is_stated_and_changes_all_alike(capsys):
    """Size and search with --software fsdp have one figure, too, and size names it beside the default's."""
    where = MachineOptions(gpu="a100-sxm-80gb", gpus=8)
    work = Work(model="llama2-7b", seq=2048, global_batch=64)

    size(model="llama2-7b", amount=Amount(samples="52k", software="fsdp"), machine_options=where)
    stated = capsys.readouterr().out
    found = _json(capsys, search, work=work, machine_options=where, software="fsdp")
    size(model="llama2-7b", amount=Amount(samples="52k"), machine_options=where)
    default = capsys.readouterr().out

    assert "based on: fsdp of 2025" in stated
    assert f"{found['best']['tokens_per_s_per_gpu']:,.0f} tokens/s per GPU" in stated
    assert "with PyTorch's FSDP (--software fsdp) this layout reaches" in default


@pytest.mark.parametrize(
    "given", [{"tp": 4}, {"micro_batch": 2}, {"zero": 3}, {"recompute": "full"}, {"software": "FSDP 2024"}]
)
def test_a_given_choice_is_never_replaced_by_the_planners(given, capsys):
    """Whoever names a part of the layout gets the prediction of that part, not the fastest layout."""
    run_options = RunOptions(model="llama2-7b", seq=2048, global_batch=64, **given)
    where = MachineOptions(gpu="a100-sxm-80gb", gpus=8)

    explained = _json(capsys, explain, run_options=run_options, machine_options=where)

    layout, name, value = explained["run"]["layout"], *next(iter(given.items()))
    if name == "software":
        assert explained["run"]["stack"] == {"family": "fsdp", "year": 2024}
    else:
        assert layout[name] == {"full": 2}.get(value, value)
    assert not any("wright plan search" in note for note in explained["notes"])
