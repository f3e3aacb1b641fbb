"""A row of a run table as a Run."""

import pytest
from bench.lib.rows import complete

from clusterwright.errors import WrightError
from clusterwright.plan.predict.lookup import CatalogLookup
from clusterwright.plan.predict.runs import run_of
from clusterwright.plan.run import Recompute

KNOWN = CatalogLookup()  # looks every name up once
TABLES = ("megatron_lm", "bigscience", "llm_foundry", "megatron_bridge", "nemo", "dgxc_benchmarking")


def test_a_complete_row_is_taken_as_it_stands(row):
    """Nothing is inferred where everything is said."""
    run, notes = run_of(row)

    assert notes == ()
    assert (run.layout.dp, run.layout.tp, run.layout.pp, run.layout.interleave) == (2, 4, 8, 5)
    assert (run.training.architecture.layers, run.training.seq_len, run.training.global_batch) == (
        80,
        8192,
        128,
    )
    assert (run.machine.gpu.name, run.machine.gpus, run.machine.gpus_per_node) == ("h100-sxm-80gb", 64, 8)
    assert (run.training.precision, run.layout.recompute) == ("bf16", Recompute.SELECTIVE)
    assert (run.stack.family, run.stack.year) == ("megatron", 2025)


@pytest.mark.parametrize("table", [*TABLES, "published", "misc_llm", "simumax_b200", "torchtitan_lowprec"])
def test_measured_columns_are_never_read(table, published):
    """A row with its measurements deleted, or replaced by nonsense, gives the same run and notes."""
    for one in published(table)[::20]:
        blank = {name: "" if name.startswith("measured_") else cell for name, cell in one.items()}
        absurd = {name: "1e99" if name.startswith("measured_") else cell for name, cell in one.items()}
        gone = {name: cell for name, cell in one.items() if not name.startswith(("measured_", "status"))}

        assert told(one) == told(blank) == told(absurd) == told(gone)


def told(row):
    """The run and notes, or what is wrong."""
    try:
        return run_of(row, KNOWN)
    except WrightError as error:
        return error.findings


@pytest.mark.parametrize("table", TABLES)
def test_every_run_uses_all_of_its_gpus(table, published):
    """Degrees multiply to the GPUs, and the batch is whole microbatches, whatever was inferred."""
    runs = [told(one) for one in published(table)[::5]]
    runs = [each[0] for each in runs if not hasattr(each[0], "code")]

    assert runs
    for run in runs:
        assert run.layout.gpus == run.machine.gpus
        assert run.training.global_batch % (run.layout.dp * run.layout.micro_batch) == 0
        assert run.training.architecture.heads % run.layout.tp == 0


def test_nearly_every_published_row_is_understood(published):
    """Of the published tables at most one row in fifty contradicts itself."""
    rows = [one for table in TABLES for one in published(table)[::3]]
    refused = [one for one in rows if hasattr(told(one)[0], "code")]

    assert len(refused) <= len(rows) / 50


def test_all_problems_of_a_row_are_told_at_once(row):
    """Whoever fixes a row sees everything that is wrong with it."""
    bad = {"gpu_type": "H1000", "tp": "3", "pp": "7", "num_gpus": "64", "seq_len": "-5", "precision": "fp3"}

    with pytest.raises(WrightError) as caught:
        run_of(row | bad)

    codes = [finding.code for finding in caught.value.findings]
    assert codes == [
        "unknown-gpu",
        "predict-gpus-differ",
        "predict-heads-indivisible",
        "predict-layers-indivisible",
        "predict-not-a-size",
        "predict-unknown-precision",
    ]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"gpu_type": ""}, "predict-no-gpu"),
        ({"layers": "0"}, "predict-not-a-size"),
        ({"heads": "12.5"}, "predict-not-a-size"),
        ({"hidden": "wide"}, "predict-not-a-number"),
        ({"global_batch": "127"}, "predict-batch-indivisible"),
        ({"dp_or_fsdp": "DP:4"}, "predict-gpus-differ"),
        ({"num_gpus": "63"}, "predict-gpus-differ"),
        ({"zero_stage": "7"}, "predict-not-a-size"),
        ({"model": "gpt-nobody", "layers": "", "hidden": "", "params_b": ""}, "predict-unknown-model"),
        ({"model": "Mixtral 8x7B", "layers": "32", "heads": "32", "ep": "3"}, "predict-experts-indivisible"),
    ],
)
def test_what_cannot_be_is_refused(row, change, code):
    """Each kind of nonsense has its own code."""
    with pytest.raises(WrightError) as caught:
        run_of(row | change)

    assert code in {finding.code for finding in caught.value.findings}


def test_a_bare_row_is_inferred_and_every_inference_is_noted():
    """A model, a GPU and a number are enough; the notes name what was chosen."""
    run, notes = run_of({"model": "llama3-8b", "gpu_type": "H100", "num_gpus": "64"})

    assert run.layout.gpus == 64
    said = " ".join(notes)
    for word in (
        "catalog",
        "batch",
        "microbatch",
        "sequence",
        "recomputation",
        "precision",
        "year",
        "software",
    ):
        assert word in said


def test_complete_means_shape_batch_and_cut(row):
    """The rows that accuracy is judged on first."""
    assert complete(row)
    assert not complete(row | {"micro_batch": " "})
    assert not complete({name: cell for name, cell in row.items() if name != "layers"})
