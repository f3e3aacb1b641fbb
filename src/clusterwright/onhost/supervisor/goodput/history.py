"""The events of a run, read from its folder; of a file with a million lines only those that the ledger needs.

A ledger is made of the moments at which something began, ended or broke. Between them rank 0 writes step after step,
and each step event holds the time of all steps before it; so a few lines around each moment tell the same.
"""

from __future__ import annotations

import os
from typing import Any, BinaryIO, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from clusterwright.onhost.lib.safe_reader import (
    TEXT_BYTES,
    is_regular,
    list_folder,
    open_regular,
    parse_object,
    read_object,
    read_part,
)

Event = Dict[str, Any]

FULL_READ_BYTES = 2 << 20  # bytes of a file that are read as they stand: 10,000 events, a tenth of a second
CONTEXT_BYTES = 32 << 10  # bytes read before and after a moment in a longer file: 150 events
PROBE = 4 << 10  # bytes in which a line is sure to begin and end
MOMENTS = ("job_start", "generation_start", "generation_end", "host_lost", "job_end")


class History(NamedTuple):
    """What a run wrote, as far as it was read, and what was known when it was submitted."""

    events: List[Event]
    submitted: Optional[float] = None
    price: Optional[Dict[str, Any]] = None  # of a GPU hour: amount, currency, source
    record: Mapping[str, Any] = {}  # all of job.json


def read(folder: str, full_read_bytes: int = FULL_READ_BYTES) -> History:
    """All events of short files, and of long ones those around each moment."""
    paths = event_files(folder)
    long = [path for path in paths if os.stat(path).st_size > full_read_bytes]
    events = [
        event
        for path in paths
        if path not in long
        for event in parse(read_part(path, full_read_bytes, inside=folder))
    ]
    moments = sorted({float(event["time"]) for event in events if event["event"] in MOMENTS})
    for path in long:
        events += thin(path, moments)
    record = read_object(os.path.join(folder, "job.json"), TEXT_BYTES)
    submitted, price = record.get("submitted"), record.get("price")
    return History(
        sorted(events, key=lambda event: float(event["time"])),
        float(submitted) if isinstance(submitted, (int, float)) else None,
        price if isinstance(price, dict) else None,
        record,
    )


def event_files(folder: str, prefix: str = "") -> List[str]:
    """The files of events in a run's folder, in order; what is no regular file is none."""
    events = os.path.join(folder, "events")
    names = [name for name in list_folder(events) if name.startswith(prefix) and name.endswith(".jsonl")]
    return [path for path in (os.path.join(events, name) for name in names) if is_regular(path)]


def parse(data: bytes) -> Iterator[Event]:
    """The events of whole lines; a line that a dying host left half written is passed over."""
    for line in data.splitlines():
        event = parse_object(line)
        if isinstance(event.get("time"), (int, float)) and isinstance(event.get("event"), str):
            yield event


def thin(path: str, moments: Iterable[float]) -> List[Event]:
    """Events at the beginning, at the end, and around each moment; each once."""
    run = os.path.dirname(os.path.dirname(path))
    with open_regular(path, inside=run) as file:  # for root: no link leads out
        size = os.fstat(file.fileno()).st_size
        places = [0, size, *(_find_position(file, size, moment) for moment in moments)]
        events: List[Event] = []
        for begin, end in _joined(
            (max(0, position - CONTEXT_BYTES), min(size, position + CONTEXT_BYTES)) for position in places
        ):
            file.seek(begin)
            block = file.read(end - begin)
            if begin:
                block = block[block.find(b"\n") + 1 :]
            events += parse(block[: block.rfind(b"\n") + 1])
    return events


def _find_position(file: BinaryIO, size: int, moment: float) -> int:
    """Where in the file the first event of that time or later stands, to within a probe."""
    low, high = 0, size
    while high - low > PROBE:
        middle = (low + high) // 2
        file.seek(middle)
        following = next(parse(file.read(PROBE).partition(b"\n")[2]), None)
        if following is None or float(following["time"]) >= moment:
            high = middle
        else:
            low = middle
    return low


def _joined(spans: Iterable[Tuple[int, int]]) -> List[Tuple[int, int]]:
    """The spans in order, those that touch as one: no line is read twice."""
    merged_spans: List[Tuple[int, int]] = []
    for begin, end in sorted(spans):
        if merged_spans and begin <= merged_spans[-1][1]:
            merged_spans[-1] = (merged_spans[-1][0], max(merged_spans[-1][1], end))
        else:
            merged_spans.append((begin, end))
    return merged_spans
