"""What `collectives.py` prints on one host: a row for each size of each operation, what carried it, NCCL's log."""

from __future__ import annotations

import json
from dataclasses import dataclass

from clusterwright.check.bench.transport import Transport, of_nccl

# The columns and units of nccl-tests: bytes, elements, microseconds, GB/s.
HEAD = "        size       count    type  redop       time     algbw     busbw  #wrong  operation"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of nccl-tests: bytes, elements, seconds, bytes/s, and how many elements of all ranks were wrong."""

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
    """Everything that a group of ranks said; `skipped` are operations that the backend does not have, and why."""

    rows: tuple[Row, ...]
    skipped: dict[str, str]
    carried: dict[str, int]
    transport: Transport

    def largest(self, kind: str) -> Row | None:
        """The row of the operation's largest message."""
        return max((row for row in self.rows if row.kind == kind), key=lambda row: row.size, default=None)


def sweep(out: str) -> Sweep:
    """The sweep; lines of other forms (warnings of torch) are passed over."""
    found = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    rows = tuple(
        Row(
            each["kind"],
            each["size"],
            each["count"],
            each["redop"],
            each["time_us"] / 1e6,
            each["algbw"] * 1e9,
            each["busbw"] * 1e9,
            each["wrong"],
            each["ranks"],
        )
        for each in found
        if "busbw" in each
    )
    skipped = {each["kind"]: each["skipped"] for each in found if "skipped" in each}
    carried: dict[str, int] = next((each["carried"] for each in found if "carried" in each), {})
    return Sweep(rows, skipped, carried, of_nccl(line for each in found for line in each.get("log", ())))
