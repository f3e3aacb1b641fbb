"""Reads what decay of a run is found in: steps of rank 0 at even places of its file, and the samples of its agents.

Standard library, Python 3.8; sent to a host that has the run's folder.
"""

from __future__ import annotations

import os
from typing import BinaryIO, Dict, Iterable, Iterator, List

from clusterwright.onhost.lib.safe_reader import open_regular, read_part
from clusterwright.onhost.supervisor.goodput import decay, history

PLACES = 400  # in a long file, each with some ten to twenty steps
SAMPLES_BYTES = 2 << 20  # of one host's samples: three weeks
ALL_SAMPLES_BYTES = 64 << 20  # of all hosts
Event = history.Event


def find_decays(run: str) -> List[decay.Decay]:
    """Return how the speed of a run in this folder decays; empty if it does not, or has too few events to tell."""
    try:
        return decay.find_decays(read_steps(run), read_samples(run))
    except (TypeError, KeyError, OverflowError, ZeroDivisionError):  # fields that a user has written
        return []


def read_steps(run: str) -> List[Event]:
    """Return the step events of rank 0 in order of time: all of a short file, of a long one those at a few places.

    These are around starts, and at even distances in the file. Empty if it cannot be read.
    """
    path = os.path.join(run, "events", "rank-00000.jsonl")
    try:
        size = os.stat(path).st_size
        if size <= history.FULL_READ_BYTES:
            return _ordered(history.parse(read_part(path, history.FULL_READ_BYTES, inside=run)))
        events = history.thin(path, _starts(run))
        with open_regular(path, inside=run) as file:
            for index in range(PLACES):
                events += _block(file, size * index // PLACES)
    except OSError:
        return []
    return _ordered(events)


def read_samples(run: str) -> List[Event]:
    """Return the newest samples of all agents by time, as many as fit in ALL_SAMPLES_BYTES.

    Files that cannot be read, and samples without a host, are left out.
    """
    paths = history.event_files(run, subfolder="samples")
    share = min(SAMPLES_BYTES, ALL_SAMPLES_BYTES // max(1, len(paths)))
    events: List[Event] = []
    for path in paths:
        try:
            data = read_part(path, share, -share, inside=run)
        except OSError:
            continue
        events += [event for event in history.parse(data) if isinstance(event.get("host"), str)]
    return _ordered(events)


def _starts(run: str) -> List[float]:
    """Return the start times of the run's newest generations, at most 20, by the last supervisors' events."""
    paths = history.event_files(run, "supervisor-")
    events = [
        event
        for path in paths[-2:]
        for event in history.parse(read_part(path, history.FULL_READ_BYTES, inside=run))
    ]
    return [float(event["time"]) for event in events if event["event"] == "generation_start"][-20:]


def _block(file: BinaryIO, offset: int) -> Iterator[Event]:
    """Yield the events in the complete lines of a short block of the file at an offset."""
    file.seek(offset)
    block = file.read(history.PROBE)
    if offset:
        block = block.partition(b"\n")[2]
    yield from history.parse(block[: block.rfind(b"\n") + 1])


def _ordered(events: Iterable[Event]) -> List[Event]:
    """Return the events sorted by time, without repetitions of the same event."""
    unique: Dict[object, Event] = {}
    for event in events:
        unique[
            (float(event["time"]), event["event"], event.get("step") if event["event"] == "step" else None)
        ] = event
    return sorted(unique.values(), key=lambda event: float(event["time"]))
