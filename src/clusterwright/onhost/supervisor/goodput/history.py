"""Read the events of a run from its folder; of long files only those that the accounting needs.

The accounting needs the moments at which something began, ended or failed. Between them rank 0 writes step
events, each with the total time of all earlier steps, so a few lines around each moment suffice.
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

FULL_READ_BYTES = 2 << 20  # largest file that is read completely: 10,000 events, a tenth of a second
CONTEXT_BYTES = 32 << 10  # bytes read before and after a moment in a longer file: 150 events
PROBE = 4 << 10  # bytes that always contain a complete line
MOMENTS = ("job_start", "generation_start", "generation_end", "host_lost", "job_end")


class History(NamedTuple):
    """The events read from a run, and what its job.json records."""

    events: List[Event]
    submitted: Optional[float] = None
    price: Optional[Dict[str, Any]] = None  # per GPU hour: amount, currency, source
    record: Mapping[str, Any] = {}  # all of job.json


def read(folder: str, full_read_bytes: int = FULL_READ_BYTES) -> History:
    """Return a run's events and record from its folder; of files over `full_read_bytes` only events around moments.

    Moments are the times of events of the kinds MOMENTS in the short files.
    """
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


def event_files(folder: str, prefix: str = "", *, subfolder: str = "events") -> List[str]:
    """Return the paths of the regular event files in a run's folder whose names start with `prefix`, sorted."""
    events = os.path.join(folder, subfolder)
    names = [name for name in list_folder(events) if name.startswith(prefix) and name.endswith(".jsonl")]
    return [path for path in (os.path.join(events, name) for name in names) if is_regular(path)]


def parse(data: bytes) -> Iterator[Event]:
    """Yield the valid events in the lines of a file's data; others, as one truncated by a crash, are skipped."""
    for line in data.splitlines():
        event = parse_object(line)
        if isinstance(event.get("time"), (int, float)) and isinstance(event.get("event"), str):
            yield event


def thin(path: str, moments: Iterable[float]) -> List[Event]:
    """Return the events of a file at its beginning, at its end and around each moment (epoch seconds), each once."""
    run = os.path.dirname(os.path.dirname(path))
    with open_regular(path, inside=run) as file:  # root may be the reader: no link may lead out of the run
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
    """Return an offset at most 2 PROBE bytes before the first event at or after that time; it may be within a line."""
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
    """Return the spans sorted, with overlapping ones merged, so that no line is read twice."""
    merged_spans: List[Tuple[int, int]] = []
    for begin, end in sorted(spans):
        if merged_spans and begin <= merged_spans[-1][1]:
            merged_spans[-1] = (merged_spans[-1][0], max(merged_spans[-1][1], end))
        else:
            merged_spans.append((begin, end))
    return merged_spans
