"""What the words in a row mean."""

import pytest

from clusterwright.plan.predict.cells import Cells
from clusterwright.plan.predict.row_text import data_parallel_degree, precision, settings


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("BF16", "bf16"),
        ("amp_bf16", "bf16"),
        ("FP8", "fp8"),
        ("FP8-CS", "fp8"),
        ("float8 tensorwise", "fp8"),
        ("FP8-MX", "mxfp8"),
        ("mxfp8_cublas_rceil", "mxfp8"),
        ("FP8 (alt. quantization granularity)", "mxfp8"),
        ("NVFP4", "nvfp4"),
        ("nvfp4 (bf16 tail)", "nvfp4"),
        ("fp16", "fp16"),
        ("TF32", "tf32"),
        ("fp32", "fp32"),
    ],
)
def test_precisions_have_many_spellings(text, name):
    """All of them mean one of ours."""
    assert precision(Cells.from_row({"precision": text}), "h100-sxm-80gb") == name


def test_mixed_is_what_the_gpu_can():
    """bf16 came with Ampere; before, mixed precision is fp16."""
    assert precision(Cells.from_row({"precision": "mixed"}), "v100-sxm-32gb") == "fp16"
    assert precision(Cells.from_row({"precision": "mixed"}), "a100-sxm-80gb") == "bf16"


def test_only_named_settings_are_read_from_notes():
    """Measured figures stand in the same notes and are left alone."""
    notes = "total tokens/s=116632; HFU=42%; header 'Llama (TP=8, VP=7, GA=63)'; attention-backend=unfused"

    found = settings(Cells.from_row({"notes_url": notes}))

    assert found == {"TP": "8", "VP": "7", "GA": "63", "attention-backend": "unfused"}


@pytest.mark.parametrize(("text", "degree"), [("DP:8", 8), ("FSDP:64", 64), ("DDP", None), ("HSDP", None)])
def test_degree_of_data_parallelism(text, degree):
    """Given with a colon, or not at all."""
    assert data_parallel_degree(Cells.from_row({"dp_or_fsdp": text})) == degree
