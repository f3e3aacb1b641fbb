"""Rows to predict."""

import csv
from pathlib import Path

import pytest

PUBLISHED = Path(__file__).parents[3] / "bench" / "accuracy" / "published"


@pytest.fixture
def row():
    """A complete row: LLaMA-3 70B on 64 H100."""
    return {
        "source": "Megatron-Bridge 25.09",
        "model": "LLAMA3_70B",
        "params_b": "70",
        "layers": "80",
        "hidden": "8192",
        "heads": "64",
        "kv_heads": "8",
        "ffn": "28672",
        "vocab": "128256",
        "seq_len": "8192",
        "gpu_type": "H100-SXM-80GB",
        "num_gpus": "64",
        "gpus_per_node": "8",
        "interconnect": "DGX-H100 system",
        "global_batch": "128",
        "micro_batch": "1",
        "tp": "4",
        "pp": "8",
        "interleave": "5",
        "dp_or_fsdp": "DP:2",
        "cp": "1",
        "zero_stage": "1",
        "recompute": "selective",
        "precision": "bf16",
        "notes_url": "",
        "ep": "1",
        "task": "pretrain",
    }


@pytest.fixture
def published():
    """The rows of one published table."""

    def rows(name):
        with (PUBLISHED / f"{name}.csv").open(newline="") as file:
            return list(csv.DictReader(file))

    return rows


@pytest.fixture
def as_csv():
    """Rows as the bytes of a CSV file."""

    def text(rows):
        lines = [",".join(rows[0])]
        lines += [",".join(f'"{cell}"' for cell in row.values()) for row in rows]
        return "\n".join(lines).encode() + b"\n"

    return text
