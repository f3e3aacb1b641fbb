"""Parse the output of fio --output-format=json, 2.1.5 and later; pure."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.i18n import _
from clusterwright.onhost.lib.safe_reader import parse_document


@dataclass(frozen=True, slots=True)
class Fio:
    """One fio job, of reads or writes: bytes/s, operations/s, and completion latency in seconds."""

    bytes_per_s: float
    iops: float
    mean_s: float
    p99_s: float | None


def fio(out: str) -> Fio:
    """Parse the first job of a fio run; skips warnings that fio prints before its JSON.

    Of reads and writes, the figures are of those with more operations.

    Raises:
        ValueError: There is no job, or it ended with an error.
    """
    start = out.find("{")
    if start < 0:
        raise ValueError(" ".join(out.strip().splitlines()[-2:]) or "(nothing)")
    document = parse_document(out[start : out.rfind("}") + 1])
    job = next(iter(document.get("jobs", [])), None)
    if job is None or job.get("error"):
        raise ValueError(
            _(
                "fio failed with error {error}: {out}",
                error=job.get("error") if job else "(no job)",
                out=out[:start].strip()[-200:],
            )
        )
    part = max((job["read"], job["write"]), key=lambda section: float(section["iops"]))
    # before 3.0 (2017) latencies were in microseconds, under `clat`; `bw` is KiB/s in all, `bw_bytes` came with 2.99
    nanoseconds = part.get("clat_ns")
    latency, unit = (nanoseconds, 1e-9) if nanoseconds else (part["clat"], 1e-6)
    p99 = latency.get("percentile", {}).get("99.000000")
    rate = part.get("bw_bytes", part["bw"] * 1024)
    return Fio(float(rate), float(part["iops"]), latency["mean"] * unit, None if p99 is None else p99 * unit)
