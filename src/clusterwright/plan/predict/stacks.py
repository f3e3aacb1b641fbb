"""Software family and year of a row, from its text, else from its layout and the GPU's generation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clusterwright.i18n import _
from clusterwright.plan.predict.row_text import mentions
from clusterwright.plan.run import Stack

if TYPE_CHECKING:
    from clusterwright.plan.predict.cells import Cells

# Pattern of a source, model or note -> family; the first match counts.
_FAMILIES = (
    (r"maxtext|paxml|\bjax\b", "maxtext"),
    (r"automodel", "nemo-automodel"),
    (r"megatron-fsdp", "megatron"),
    (r"bigscience|chronicles|\bbloom\b|mt-nlg|megatron-deepspeed", "megatron-deepspeed"),
    (r"dgxc|\bnemo\b|megatron|simumax|korthikanti|zero bubble|sc21", "megatron"),
    (r"deepspeed|\bzero[-_ ]?[123]|internevo|internlm|when-to-upgrade", "deepspeed"),
    (
        r"llm-foundry|\bmpt\b|mosaic|composer|fms-fsdp|torchtitan|torchtune|tinyllama|lit-?gpt|fsdp|picotron",
        "fsdp",
    ),
)
SOFTWARE = (
    "Megatron",
    "NeMo",
    "DeepSpeed",
    "FSDP",
    "torchtitan",
    "MaxText",
)  # of these families, as users write them
# Years of sources without a date: of the release or paper with the figures.
_YEARS = (
    (r"mcore r0\.[89]|llama 3 paper|deepseek-v3|internevo|fms-fsdp", 2024),
    (r"zero bubble|megascale|llm-foundry|\bmpt\b|tinyllama", 2023),
    (r"bloom|palm|korthikanti|opt paper|metaseq", 2022),
    (r"sc21|mt-nlg|bigscience|gopher", 2021),
    (r"torchtitan|simumax|picotron|when-to-upgrade|functional-test golden", 2025),
)
# The year in which most published runs of a GPU generation date from: one after its release.
_GENERATION_YEARS = {
    "Pascal": 2018,
    "Volta": 2020,
    "Turing": 2020,
    "Ampere": 2022,
    "Ada": 2023,
    "Hopper": 2024,
    "Blackwell": 2025,
    "Blackwell Ultra": 2026,
}
_NEWEST = 2025
_MEGATRON_FSDP_SINCE = 2024
_DATES = (
    r"\b(20[12]\d)(?:\b|-)",  # 2021, 2025-10
    r"(?<![\d.])v?(2[0-9])\.(?:0[1-9]|1[0-2])(?![\d])(?!\d*\.\d{3})",  # releases by month: 24.07, v25.04
)
_ARXIV = r"\b(1[7-9]|2[0-9])(?:0[1-9]|1[0-2])\.\d{5}"  # of the paper, which is later than its measurements


def stack(cells: Cells, gpu_arch: str) -> Stack:
    """Return software family and year of a row, with notes on what was inferred.

    Megatron with ZeRO-3 before its own FSDP (2024) counts as DeepSpeed.
    """
    family, year = _family(cells), _year(cells, gpu_arch)
    if family.startswith("megatron") and cells.text("zero_stage") == "3" and year < _MEGATRON_FSDP_SINCE:
        family = "deepspeed"  # Megatron had no full sharding: its layers with DeepSpeed
    return Stack(family, year)


def family_of(text: str) -> str | None:
    """Return the software family that a text names; None if it names none."""
    return next((name for pattern, name in _FAMILIES if re.search(pattern, text, re.IGNORECASE)), None)


def _family(cells: Cells) -> str:
    if "tpu" in cells.text("gpu_type").lower():
        return "maxtext"
    for pattern, name in _FAMILIES:
        if mentions(cells, pattern):
            return name
    is_unsplit = all((cells.text(column) or "1") == "1" for column in ("tp", "pp"))
    name = "fsdp" if is_unsplit and cells.text("zero_stage") in {"2", "3"} else "megatron"
    cells.note(_("no software named: assumed {name}, from the parallel layout", name=name))
    return name


def _year(cells: Cells, gpu_arch: str) -> int:
    source = cells.text("source")
    for pattern in _DATES:
        if match := re.search(pattern, source):
            return int(match[1]) if len(match[1]) == 4 else 2000 + int(match[1])
    for pattern, year in _YEARS:
        if re.search(pattern, f"{source} ; {cells.text('model')}", re.IGNORECASE):
            return year
    if match := re.search(_ARXIV, source):
        return 2000 + int(match[1])
    year = _GENERATION_YEARS.get(gpu_arch, _NEWEST)
    cells.note(_("no year of the software given: assumed {year}, from the GPU's generation", year=year))
    return year
