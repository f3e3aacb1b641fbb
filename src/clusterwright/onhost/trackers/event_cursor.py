"""Reads a run's events for a tracker and stores its position: each step and each measure is sent once."""

from __future__ import annotations

import json
import math
import os
from typing import Any, Dict, Iterator, List, NamedTuple

from clusterwright.onhost.lib.files import write_atomic
from clusterwright.onhost.lib.safe_reader import TEXT_BYTES, parse_object, read_object, read_part
from clusterwright.onhost.supervisor.goodput import communication

MOST = 4 << 20  # bytes per read: some ten thousand steps


class Row(NamedTuple):
    """Values of one step, by name, for a tracker."""

    step: int
    time: float  # seconds since the epoch
    values: Dict[str, float]


class EventCursor:
    """A tracker's position in the run's events, stored in `trackers/NAME.json` of the run's folder.

    A step repeated after a restart is not sent again: in the same layout its values are bit-identical. If the process
    dies between sending and `commit`, rows are sent twice rather than lost.
    """

    def __init__(self, run: str, name: str) -> None:
        self._events = os.path.join(run, "events", "rank-00000.jsonl")
        self._path = os.path.join(run, "trackers", f"{name}.json")
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        document = read_object(self._path, TEXT_BYTES)
        self.step = int(document.get("step", 0))
        self.own: Dict[str, Any] = dict(document.get("own", {}))  # the tracker's own stored state
        self._offset, self._measured = int(document.get("offset", 0)), dict(document.get("measured", {}))
        self._batch = int(document.get("batch", 0))
        self._previous: Dict[str, Any] = {}
        self._talked: Dict[str, Any] = {}  # the last step with communication times
        self._next = self._offset

    def new(self) -> List[Row]:
        """Return the measurements after the stored position; the same ones again until `commit`."""
        self._next, step, measures = self._offset, self.step, dict(self._measured)
        rows: List[Row] = []
        for event in self._read():
            if event.get("event") == "plan":
                self._batch, self._previous, self._talked = int(event.get("batch") or 0), {}, {}
            elif event.get("event") == "step":
                if event["step"] > step:
                    step = event["step"]
                    rows.append(Row(step, event["time"], self._values(event)))
                self._previous = event
                self._talked = event if "communicated" in event else self._talked
            elif event.get("event") == "measure" and event["step"] > measures.get(event["name"], -1):
                measures[event["name"]] = event["step"]
                if _is_number(event.get("value")):
                    rows.append(
                        Row(event["step"], event["time"], {str(event["name"]): float(event["value"])})
                    )
        self._then = step, measures
        return rows

    def commit(self) -> None:
        """Store the position after the measurements that `new` returned, so that they are not sent again."""
        self._offset, (self.step, self._measured) = self._next, self._then
        document = {
            "step": self.step, "offset": self._offset, "measured": self._measured, "batch": self._batch,
            "own": self.own,
        }  # fmt: skip
        write_atomic(self._path, json.dumps(document), durable=False)

    def _read(self) -> Iterator[Dict[str, Any]]:
        """Yield valid events from the complete lines of the file that follow the last committed position.

        Nothing if the file cannot be read.
        """
        try:
            data = read_part(self._events, MOST, self._offset)
        except OSError:
            return
        complete_lines = data[: data.rfind(b"\n") + 1]
        self._next = self._offset + len(complete_lines)
        for line in complete_lines.splitlines():
            event = parse_object(line)
            if _is_number(event.get("time")) and isinstance(event.get("step"), (int, type(None))):
                yield event

    def _values(self, event: Dict[str, Any]) -> Dict[str, float]:
        """Return a step event's values by name; most trackers group names by the part before the slash."""
        seconds, previous = event.get("seconds"), self._previous
        values: Dict[str, Any] = {
            "train/loss": event.get("loss"),
            "train/learning_rate": event.get("lr"),
            "train/gradient_norm": event.get("norm"),
            "train/epoch": event.get("epoch"),
            "speed/step_seconds": seconds,
            "speed/memory_bytes": event.get("memory"),
            "speed/tokens_per_second": event["tokens"] / seconds if seconds and event.get("tokens") else None,
            "speed/samples_per_second": self._batch / seconds if seconds and self._batch else None,
            "speed/communication_ratio": communication.share_between(self._talked, event),
        }
        if previous and "waited" in event and "waited" in previous and event["busy"] > previous["busy"]:
            values["speed/data_wait_ratio"] = (event["waited"] - previous["waited"]) / (
                event["busy"] - previous["busy"]
            )
        return {name: float(value) for name, value in values.items() if _is_number(value)}


def config(run: str) -> Dict[str, Any]:
    """Return the training's settings of the job file, flat, without its environment, which may hold secrets."""
    job = read_object(os.path.join(run, "job.json"), TEXT_BYTES).get("job") or {}
    names = (
        "name",
        "recipe",
        "arguments",
        "nodes",
        "gpus_per_node",
        "parallel",
        "gradients",
        "framework",
        "launcher",
    )
    return dict(_flat({name: job[name] for name in names if job.get(name) is not None}))


def _flat(document: Dict[str, Any], prefix: str = "") -> Iterator[Any]:
    for name, value in document.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
