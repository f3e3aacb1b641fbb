"""Which sort of table a header is of."""

import pytest

from clusterwright.errors import WrightError
from clusterwright.plan.predict.headers import CNN, COLLECTIVES, RUNS, doubtful, sort_of


@pytest.mark.parametrize(
    ("table", "sort"), [("nccl_measured", COLLECTIVES), ("cnn_training", CNN), ("megatron_lm", RUNS)]
)
def test_published_tables_are_told_apart(table, sort, published):
    """By their headers alone."""
    assert sort_of(list(published(table)[0]), "t.csv") is sort


def test_all_missing_columns_are_named():
    """With what was probably meant."""
    with pytest.raises(WrightError) as caught:
        sort_of(["model", "gpu_type", "num_gpu", "seqlen"], "t.csv")

    said = {finding.message.split("`")[1]: finding.fix for finding in caught.value.findings}
    assert set(said) == {"num_gpus", "seq_len", "global_batch"}
    assert "num_gpu`" in said["num_gpus"]
    assert "seqlen`" in said["seq_len"]
    assert caught.value.exit_code == 2


def test_a_misspelt_column_that_may_be_missing_is_asked_about():
    """It would be ignored in silence otherwise; measured columns are nobody's misspelling."""
    columns = [*RUNS.needed, "micro_batchsize", "measured_mfu"]

    assert doubtful(columns, RUNS) == ["column `micro_batchsize` is not used; did you mean `micro_batch`?"]
