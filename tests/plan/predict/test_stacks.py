"""Which software a row was run with."""

import pytest

from clusterwright.plan.predict.cells import Cells
from clusterwright.plan.predict.stacks import stack


@pytest.mark.parametrize(
    ("source", "family", "year"),
    [
        ("Megatron-Bridge 25.09", "megatron", 2025),
        ("NeMo 24.07 performance summary", "megatron", 2024),
        ("NeMo AutoModel 2025-10", "nemo-automodel", 2025),
        ("DGXC-benchmarking v24.11.1", "megatron", 2024),
        ("Korthikanti et al. 2205.05198 Table 5", "megatron", 2022),
        ("Megatron-LM README Apr 2021 (= SC21 Table 1)", "megatron", 2021),
        ("BigScience A100 tuning (BLOOM prequel)", "megatron-deepspeed", 2022),
        ("llm-foundry", "fsdp", 2023),
        ("torchtitan mxfp8.md", "fsdp", 2025),
        ("MaxText README", "maxtext", 2024),
        ("InternEvo performance", "deepspeed", 2024),
    ],
)
def test_a_source_names_its_software(source, family, year):
    """By words for the family, and a date, release or arXiv number for the year."""
    found = stack(Cells.from_row({"source": source}), "Hopper")

    assert (found.family, found.year) == (family, year)


def test_an_unknown_source_is_judged_by_its_cut_and_gpu():
    """Full sharding without model parallelism is FSDP; the year is of the GPU's generation."""
    sharded = Cells.from_row({"zero_stage": "3", "tp": "1", "pp": "1"})
    piped = Cells.from_row({"tp": "8", "pp": "4"})

    assert (stack(sharded, "Ampere").family, stack(sharded, "Ampere").year) == ("fsdp", 2022)
    assert (stack(piped, "Hopper").family, stack(piped, "Hopper").year) == ("megatron", 2024)
    assert any("no software named" in note for note in piped.notes)


def test_a_version_is_not_a_date():
    """`v2.1` and `0.8.0` are no years."""
    assert stack(Cells.from_row({"source": "trainer v2.1 r0.8.0"}), "Volta").year == 2020
