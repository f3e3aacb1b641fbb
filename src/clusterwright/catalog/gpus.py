"""The GPUs of data/gpus.csv, by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from clusterwright.catalog.gpu import Gpu
from clusterwright.catalog.gpu_names import Kind, choose
from clusterwright.catalog.own import Own, named
from clusterwright.catalog.rows import number, rows
from clusterwright.errors import EXIT_USAGE, WrightError

_PRECISIONS = ("fp32", "tf32", "fp16", "bf16", "fp8", "fp4")


def gpu(name: str, extra: Own | None = None) -> Gpu:
    """The GPU that a text means: `h100`, `a100-80g`, `NVIDIA A100-SXM4-80GB (400W)`; the user's own first.

    Raises:
        WrightError: `unknown-gpu`, with the nearest name and how to add one.
    """
    own = extra.gpus if extra else {}
    mine = named(own, name)
    if mine is not None:
        return mine
    found = choose(name, _kinds())
    if found is None:
        raise _unknown(name, [*own, *gpus()])
    return gpus()[found]


@cache
def gpus() -> Mapping[str, Gpu]:
    """All of ours, by name."""
    return {row["name"]: _read(row) for row in rows("gpus")}


@cache
def _kinds() -> tuple[Kind, ...]:
    return tuple(
        Kind(
            row["name"],
            tuple(frozenset(model.split()) for model in row["model"].split("|")),
            row["form"],
            tuple(float(each) for each in (row["memory_gb"], *row["memory_labels"].split("|")) if each),
        )
        for row in rows("gpus")
    )


def _read(row: dict[str, str]) -> Gpu:
    peak = {each: number(row, f"{each}_tflops", 1e12) for each in _PRECISIONS if row[f"{each}_tflops"]}
    best = {
        each: number(row, f"best_{each}_tflops", 1e12)
        for each in ("bf16", "fp8")
        if row[f"best_{each}_tflops"]
    }
    return Gpu(
        name=row["name"],
        peak=peak,
        memory_bytes=number(row, "memory_gb", 1e9),
        memory_bytes_per_s=number(row, "memory_gbyte_per_s", 1e9),
        link_bytes_per_s=number(row, "link_gbyte_per_s", 1e9),
        power_w=number(row, "power_w"),
        achieved=best or None,
        vendor=row["vendor"],
        arch=row["arch"],
        form=row["form"],
        pcie_gen=int(number(row, "pcie_gen")),
        source=row["source"],
        usable_bytes=number(row, "usable_gib", 2**30),
    )


def _unknown(name: str, known: list[str]) -> WrightError:
    from difflib import get_close_matches

    slug = "-".join(name.lower().split())
    close = get_close_matches(slug, known, n=3, cutoff=0.4)
    meant = f"did you mean {' or '.join(f'`{each}`' for each in close)}? " if close else ""
    mend = f"{meant}All: wright plan catalog gpus; one of your own: docs/guides/own-hardware.md"
    return WrightError.of("unknown-gpu", f"no GPU is called `{name}`", mend, exit_code=EXIT_USAGE)
