"""`ibping`: packets lost on the way to a port of the InfiniBand fabric."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from clusterwright.diagnose.outputs.value import Finding, Normal, Row, parse_number, percent
from clusterwright.i18n import _

_TARGET = re.compile(r"^-+ *(?P<peer>.+?) ibping statistics")
_COUNTS = re.compile(
    r"(?<!\d)(?P<sent>\d+) packets transmitted, (?P<received>\d+) (?:packets )?received, "
    r"(?P<lost>\d+(?:[.,]\d+)?) ?% packet loss"
)
_RTT = re.compile(r"min/avg/max(?:/\w+)? *= *[\d.]+/(?P<mean>[\d.]+)/")
_EMPTY = re.compile(r"^\(none\)|\.?\(none\)")


def read(rows: Sequence[Row], _memory_bytes: int | None) -> Iterator[Finding | Normal]:
    """Yield for each peer of ibping a finding if packets were lost, else a normal value with the mean time."""
    for index, row in enumerate(rows):
        if match := _TARGET.search(row.text):
            summary = rows[index + 1 : index + 4]
            counts = next(
                ((line, numbers) for line in summary if (numbers := _COUNTS.search(line.text))), None
            )
            if counts:
                mean = next((numbers["mean"] for line in summary if (numbers := _RTT.search(line.text))), "")
                yield _judged(counts[0], _EMPTY.sub("", match["peer"]).strip(), counts[1], mean)


def _judged(row: Row, peer: str, counts: re.Match[str], mean: str) -> Finding | Normal:
    loss = parse_number(counts["lost"]) or 0.0
    if int(counts["received"]) == 0 and int(counts["sent"]):
        return Finding(row, f"ibping: no answer from {peer}, {counts['sent']} sent")
    if loss > 0:
        return Finding(row, f"ibping: loss to {peer}, {percent(loss)}% of {counts['sent']}")
    texts = {"peer": peer, "sent": counts["sent"], "mean": mean or "?"}
    return Normal(
        row, _("{peer} answers all {sent} packets of ibping, {mean} ms on average: normal.", **texts)
    )
