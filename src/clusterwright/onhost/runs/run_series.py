"""The curves of a run: a few hundred points, however many steps (standard library, Python 3.8)."""

from __future__ import annotations

import json
import os
import re
from typing import Any, BinaryIO, Dict, Iterator, List, Optional, Tuple

from clusterwright.onhost.lib.safe_reader import list_folder, open_regular, read_part
from clusterwright.onhost.runs import run_progress
from clusterwright.onhost.supervisor.goodput import communication, history

POINTS = 400  # per curve: a page is a thousand pixels wide
MOST_POINTS = 100 * POINTS  # a file may claim any step
RANK_EVENTS = re.compile(r"rank-.*\.jsonl$")
LONGEST = 1 << 20  # bytes of a line
TAIL = 64 << 10  # bytes at the end of a file that contain the last step
NAMES = ("loss", "lr", "norm", "tokens_per_s", "samples_per_s", "data_wait", "communication", "memory")
Event = Dict[str, Any]


def text(run: str) -> str:
    """Return a run's progress, curves, measurements and interruptions as the text of a JSON object."""
    run_history = history.read(run)
    events = os.path.join(run, "events")
    paths = [os.path.join(events, name) for name in list_folder(events) if RANK_EVENTS.match(name)]
    series = Series(max((_last_step(path) for path in paths[:1]), default=0))
    for path in paths[:1]:  # rank 0 writes the events that concern all ranks
        for event in _events(path):
            series.add(event)
    document = {
        "run": os.path.basename(run), "now": run_progress.read_progress(run), "series": series.points(),
        "measures": series.measures, "restarts": _restarts(run_history.events, series.plans),
    }  # fmt: skip
    return json.dumps(document, allow_nan=False) + "\n"


class Series:
    """The points of a run's curves (loss, speed and others); of a repeated step only the last execution counts."""

    def __init__(self, last: int) -> None:
        self._last, self._steps_per_point = last, max(1, -(-last // POINTS))  # steps per point
        self._buckets: List[Dict[str, List[float]]] = []
        self._previous: Optional[Event] = None
        self._talked: Event = {}  # the last step event with a communication measurement
        self._batch = 0
        self.measures: Dict[str, List[Tuple[int, float]]] = {}
        self.plans: List[Event] = []

    def add(self, event: Event) -> None:
        """Add an event of rank 0's file, in its order, to the curves: a plan, a step or a measurement.

        Other events are ignored; steps that a plan repeats are forgotten.
        """
        if event["event"] == "plan":
            self.plans.append(event)
            self._batch, self._previous, self._talked = int(event.get("batch") or 0), None, {}
            self._forget(int(event.get("step") or 0))
        elif event["event"] == "measure" and isinstance(event.get("value"), (int, float)):
            self.measures.setdefault(str(event["name"]), []).append((int(event["step"]), event["value"]))
        elif event["event"] == "step":
            self._step(event)
            self._previous = event
            self._talked = event if "communicated" in event else self._talked

    def points(self) -> Dict[str, List[Tuple[int, float, float, float]]]:
        """Return for each curve its points: last step, mean, minimum and maximum of the steps in the point."""
        curves: Dict[str, List[Tuple[int, float, float, float]]] = {}
        for name in NAMES:
            for number, bucket in enumerate(self._buckets):
                values = bucket.get(name)
                if values:
                    step = min(
                        (number + 1) * self._steps_per_point,
                        max(self._last, number * self._steps_per_point + 1),
                    )
                    curves.setdefault(name, []).append(
                        (step, sum(values) / len(values), min(values), max(values))
                    )
        return curves

    def _step(self, event: Event) -> None:
        number = (int(event.get("step") or 1) - 1) // self._steps_per_point
        if not 0 <= number < MOST_POINTS:
            return
        while len(self._buckets) <= number:
            self._buckets.append({})
        for name, value in self._values(event):
            if isinstance(value, (int, float)):
                self._buckets[number].setdefault(name, []).append(value)

    def _values(self, event: Event) -> Iterator[Tuple[str, Any]]:
        for name in ("loss", "lr", "norm", "memory"):
            yield name, event.get(name)
        seconds, previous = event.get("seconds"), self._previous
        if seconds:
            yield "tokens_per_s", event["tokens"] / seconds if event.get("tokens") else None
            yield "samples_per_s", self._batch / seconds if self._batch else None
        if previous and "waited" in event and "waited" in previous and event["busy"] > previous["busy"]:
            yield (
                "data_wait",
                min(1.0, (event["waited"] - previous["waited"]) / (event["busy"] - previous["busy"])),
            )

        yield "communication", communication.share_between(self._talked, event)

    def _forget(self, resumed: int) -> None:
        """Delete points and measurements beyond the step that the training resumed from: they are repeated."""
        del self._buckets[-(-resumed // self._steps_per_point) :]
        for name, samples in self.measures.items():
            self.measures[name] = [(step, value) for step, value in samples if step <= resumed]


def _restarts(events: List[Event], plans: List[Event]) -> List[Dict[str, Any]]:
    """Return each interruption of a run: the step and generation of the resumed training, and the reason.

    `plans` are the plan events: the first is the run's start.
    """
    interruptions = []
    for plan in plans[1:]:
        ends = [e for e in events if e["event"] == "generation_end" and e["time"] <= plan["time"]]
        lost_hosts = [e for e in events if e["event"] == "host_lost" and e["time"] <= plan["time"]]
        reason = str(ends[-1].get("first_failure") or ends[-1].get("reason") or "") if ends else ""
        reason = reason or (f"host {lost_hosts[-1].get('lost_host')} was lost" if lost_hosts else "restarted")
        interruptions.append(
            {"step": plan.get("step") or 0, "generation": plan.get("generation"), "reason": reason}
        )
    return interruptions


def _events(path: str) -> Iterator[Event]:
    with open_regular(path) as file:
        yield from _parsed(file)


def _parsed(file: BinaryIO) -> Iterator[Event]:
    for line in iter(lambda: file.readline(LONGEST), b""):
        yield from history.parse(line)


def _last_step(path: str) -> int:
    """Return the largest step of training in the last lines of an event file; 0 without one."""
    events = history.parse(read_part(path, TAIL, -TAIL))
    return max((int(event.get("step") or 0) for event in events if event["event"] == "step"), default=0)
