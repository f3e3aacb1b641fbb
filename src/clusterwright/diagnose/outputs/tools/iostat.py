"""`iostat -x`: how busy each disk is, and how long its requests wait."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from clusterwright.diagnose.outputs.table import tables
from clusterwright.diagnose.outputs.value import Finding, Normal, Row, parse_number, percent
from clusterwright.i18n import _
from clusterwright.units import human_number

FULL_PERCENT = 95.0  # of the time with a request in the device
LONG_WAIT_MS = 5.0  # NVMe and SSD answer within 1 ms; a device that is busy and faster than this can do more
LONG_QUEUE = 8.0  # requests
SLOW_WAIT_MS = 100.0  # no device takes as long, also a hard disk, unless its queue is long
_IGNORED = re.compile(r"loop|ram|zram|sr\d|fd\d")
_STACKED = re.compile(r"dm-|md")  # of other devices, which iostat lists too


def read(rows: Sequence[Row], _memory_bytes: int | None) -> Iterator[Finding | Normal]:
    """Yield a finding for each device that is full or slow by the medians of its reports, else a normal value.

    Full: at least FULL_PERCENT busy, and a long wait or queue; busy alone is normal. Slow: waits of SLOW_WAIT_MS or
    more. The first of several reports is left out: it is the mean since boot.
    """
    reports = list(tables(rows, ("device", "%util")))
    values: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    last_rows: dict[str, Row] = {}
    for report in reports[1:] if _is_since_boot(reports) else reports:
        for row, cells in report:
            busy = parse_number(cells.get("%util", ""))
            name = cells.get("device", "")
            if busy is not None and not _IGNORED.match(name):
                values[name].append((busy, _wait_ms(cells), _queue(cells)))
                last_rows[name] = row
    for name in sorted(values, key=lambda device: bool(_STACKED.match(device))):
        busy, wait, queue = (median(column) for column in zip(*values[name], strict=True))
        yield _judged(last_rows[name], name, (busy, wait, queue))


def _is_since_boot(reports: Sequence[Sequence[tuple[Row, Mapping[str, str]]]]) -> bool:
    devices = {cells.get("device") for report in reports[:1] for _row, cells in report}
    return any(cells.get("device") in devices for report in reports[1:] for _row, cells in report)


def _wait_ms(cells: Mapping[str, str]) -> float:
    """Return the mean wait of a request: `await`, else that of reads and writes by their number.

    Without requests, the longer wait of reads and writes; 0 if the columns are missing.
    """
    if (wait := parse_number(cells.get("await", ""))) is not None:
        return wait
    total = weighted = 0.0
    for kind in ("r", "w"):
        rate, wait = parse_number(cells.get(f"{kind}/s", "")), parse_number(cells.get(f"{kind}_await", ""))
        total += rate or 0.0
        weighted += (rate or 0.0) * (wait or 0.0)
    if total:
        return weighted / total
    return max(parse_number(cells.get(f"{kind}_await", "")) or 0.0 for kind in ("r", "w"))


def _queue(cells: Mapping[str, str]) -> float:
    return next(
        (value for name in ("aqu-sz", "avgqu-sz") if (value := parse_number(cells.get(name, "")))), 0.0
    )


def _judged(row: Row, device: str, values: tuple[float, float, float]) -> Finding | Normal:
    busy, wait, queue = values
    summary = f"{device} {percent(busy)}% busy, {human_number(wait)} ms wait"
    if busy >= FULL_PERCENT and (wait >= LONG_WAIT_MS or queue >= LONG_QUEUE):
        return Finding(row, f"iostat: full device {summary}")
    if wait >= SLOW_WAIT_MS:
        return Finding(row, f"iostat: slow device {summary}")
    texts = {"device": device, "busy": percent(busy), "wait": human_number(wait)}
    if busy >= FULL_PERCENT:
        sentence = _(
            "{device} always has a request ({busy}% util) and answers in {wait} ms: it can do more, normal.",
            **texts,
        )
    else:
        sentence = _("{device} is busy {busy}% of the time, a request takes {wait} ms: normal.", **texts)
    return Normal(row, sentence)
