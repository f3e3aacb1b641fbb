"""Parse what `collectives.py` prints on one host: a row per operation and size, bytes by interface, NCCL's log."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.bench.transport import Transport, of_nccl
from clusterwright.onhost.lib.safe_reader import parse_document

# The columns and units of nccl-tests: bytes, elements, microseconds, GB/s.
HEAD = "        size       count    type  redop       time     algbw     busbw  #wrong  operation"


@dataclass(frozen=True, slots=True)
class SweepRow:
    """One line of nccl-tests: bytes, elements, seconds, bytes/s, and the count of wrong elements on all ranks."""

    kind: str
    size: int
    count: int
    redop: str
    seconds: float
    alg_bw: float
    bus_bw: float
    wrong: int
    ranks: int

    def __str__(self) -> str:
        figures = f"{self.seconds * 1e6:>11.1f} {self.alg_bw / 1e9:>9.3g} {self.bus_bw / 1e9:>9.3g}"
        return (
            f"{self.size:>12} {self.count:>11}   float {self.redop:>6}{figures} {self.wrong:>7}  {self.kind}"
        )


@dataclass(frozen=True, slots=True)
class Sweep:
    """The rows of a group of ranks; `skipped`: operations that the backend lacks, with the reason."""

    rows: tuple[SweepRow, ...]
    skipped: dict[str, str]
    carried: dict[str, int]
    transport: Transport

    def largest(self, kind: str) -> SweepRow | None:
        """Return the measurement of the operation's largest message; None without the operation."""
        return max((row for row in self.rows if row.kind == kind), key=lambda row: row.size, default=None)


def sweep(out: str) -> Sweep:
    """Parse the output of a sweep of collectives; skips lines of other forms (warnings of torch)."""
    records = [parse_document(line) for line in out.splitlines() if line.startswith("{")]
    rows = tuple(
        SweepRow(
            record["kind"],
            record["size"],
            record["count"],
            record["redop"],
            record["time_us"] / 1e6,
            record["algbw"] * 1e9,
            record["busbw"] * 1e9,
            record["wrong"],
            record["ranks"],
        )
        for record in records
        if "busbw" in record
    )
    skipped = {record["kind"]: record["skipped"] for record in records if "skipped" in record}
    carried: dict[str, int] = next((record["carried"] for record in records if "carried" in record), {})
    return Sweep(
        rows, skipped, carried, of_nccl(line for record in records for line in record.get("log", ()))
    )
