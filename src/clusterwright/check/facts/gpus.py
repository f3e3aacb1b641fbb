"""The GPUs that answer the driver."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact
from clusterwright.units import MiB

# Names as `nvidia-smi --help-query-gpu` lists them; all are there since driver 450.
_QUERY = (
    "index", "uuid", "name", "driver_version", "memory.total",
    "ecc.errors.uncorrected.volatile.total", "remapped_rows.pending", "remapped_rows.failure",
)  # fmt: skip
_NONE = ("[N/A]", "N/A", "[Not Supported]")


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU; None for what this model does not have."""

    index: int
    uuid: str
    model: str
    driver: str
    memory_bytes: int
    ecc_uncorrected: int | None
    remap_pending: bool | None
    remap_failed: bool | None


@fact(
    "nvidia-smi", f"--query-gpu={','.join(_QUERY)}", "--format=csv,noheader,nounits", limit_s=15
)  # 3 s per GPU cold
def gpus(out: str) -> tuple[Gpu, ...]:
    """GPUs that answer the driver; blind to one that fell off the bus."""
    return tuple(_gpu(line) for line in out.splitlines() if line.strip())


def _gpu(line: str) -> Gpu:
    index, uuid, model, driver, mib, ecc, pending, failed = (word.strip() for word in line.split(","))
    return Gpu(
        int(index), uuid, model, driver, int(mib) * MiB, _count(ecc), _flag(pending), _flag(failed)
    )  # fmt: skip


def _count(word: str) -> int | None:
    return None if word in _NONE else int(word)


def _flag(word: str) -> bool | None:
    if word in _NONE:
        return None
    return {"Yes": True, "No": False, "1": True, "0": False}[word]
