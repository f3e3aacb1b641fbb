"""Whatever a row holds, the answer is a prediction or the reasons why there is none."""

from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.plan.predict.answers import answer, number
from clusterwright.plan.predict.cells import COLUMNS
from clusterwright.plan.predict.headers import CNN, COLLECTIVES, RUNS
from clusterwright.plan.predict.lookup import CatalogLookup

KNOWN = CatalogLookup()
CELLS = st.one_of(
    st.sampled_from(
        [
            "", "1", "2", "3", "8", "64", "512", "1024", "0", "-1", "1.5", "1e9", "nan", "inf", "4,096", "none", "full",
            "selective", "bf16", "fp8", "H100", "A100-SXM-80GB", "GB200", "V100", "llama3-70b", "mixtral-8x7b",
            "deepseek-v3", "nemotron-h-8b", "bert-large", "FSDP:8", "DP:4", "HSDP", "8x NDR InfiniBand", "25GbE",
            "Megatron-Bridge 25.09", "torchtitan", "BigScience", "num-experts=8; moe-router-topk=2", "TP=8, GA=4",
            "GPT-175B", "lora", "ZB-2p", "full cpu offload", "all_reduce", "ResNet-50", "NVLink", "9" * 30, "é", "\x00",
        ]
    ),
    st.text(max_size=6),
)  # fmt: skip


def rows(columns):
    """Rows with some of the columns, filled with what stands in tables and with what never should."""
    return st.fixed_dictionaries({}, optional=dict.fromkeys(columns, CELLS))


@settings(max_examples=100, deadline=None)
@given(rows(COLUMNS))
def test_a_run_is_predicted_or_refused(row):
    """Never anything else, and never a number that is none."""
    told(row, RUNS)


@settings(max_examples=30, deadline=None)
@given(rows((*COLLECTIVES.needed, *COLLECTIVES.used)))
def test_a_collective_is_predicted_or_refused(row):
    """Likewise."""
    told(row, COLLECTIVES)


@settings(max_examples=30, deadline=None)
@given(rows((*CNN.needed, *CNN.used)))
def test_a_network_is_predicted_or_refused(row):
    """Likewise."""
    told(row, CNN)


def told(row, sort):
    """The answer holds either numbers or reasons."""
    found = answer(row, sort, KNOWN)

    assert set(found.cells) <= set(sort.added)
    if found.problems:
        assert set(found.cells) == {"prediction_note"}
        assert all(f"error[{each.code}]" in found.cells["prediction_note"] for each in found.problems)
    else:
        assert set(found.cells) == set(sort.added)
        first = float(found.cells[sort.added[0]])
        assert 0 < first < float("inf")


def test_numbers_are_short():
    """Six digits are more than anyone can measure."""
    assert number(1234567.0) == "1.23457e+06"
    assert number(0.125) == "0.125"
