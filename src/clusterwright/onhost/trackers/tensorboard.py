"""TensorBoard tracker: event files in `tensorboard/` of the run's folder; needs no package."""

from __future__ import annotations

import os
import socket
import time
from typing import Any, Dict, List

from clusterwright.onhost.trackers import tfevents
from clusterwright.onhost.trackers.event_cursor import Row


class Tracker:
    """Writes one new event file at each start of the run; TensorBoard shows all of them as one run."""

    def __init__(self, run: str, _tracker_state: Dict[str, Any], _config: Dict[str, Any]) -> None:
        folder = os.path.join(run, "tensorboard")
        os.makedirs(folder, exist_ok=True)
        self._logged_steps = newest(folder)
        name = f"events.out.tfevents.{time.time():.6f}.{socket.gethostname()}.{os.getpid()}"
        self._file = open(os.path.join(folder, name), "ab")  # noqa: SIM115 (closed at the end)
        self._file.write(tfevents.begin(time.time()))

    def log(self, rows: List[Row]) -> None:
        """Append the measurements, without those that an earlier process has written but not committed."""
        for row in rows:
            if any(row.step > self._logged_steps.get(name, -1) for name in row.values):
                self._file.write(tfevents.scalars(row.time, row.step, row.values))
        self._file.flush()

    def close(self, *, finished: bool) -> None:  # noqa: ARG002 (every tracker's signature)
        """Close the event file; `finished` has no effect."""
        self._file.close()


def newest(folder: str) -> Dict[str, int]:
    """Return the last step of each value, by name, in the event files of a folder."""
    newest_steps: Dict[str, int] = {}
    for name in sorted(os.listdir(folder)):
        if "tfevents" in name:
            with open(os.path.join(folder, name), "rb") as file:
                for record in tfevents.records(file.read()):
                    step = tfevents.step_of(record)
                    for tag in tfevents.tags(record):
                        newest_steps[tag] = max(step, newest_steps.get(tag, -1))
    return newest_steps
