"""The state of one collector in the parent: due, running, or pausing after a failure. Times are parameters."""

from __future__ import annotations

import json
import os
from types import ModuleType
from typing import Callable, Optional

from clusterwright.onhost.exporter import child
from clusterwright.onhost.exporter.settings import ExporterSettings

MOST_BYTES = 8 << 20  # bytes of one collector's text: 1,000 hosts and 5,000 jobs need a tenth of it
LONGEST_REST_S = 120.0


class CollectorProcess:
    """A collector and its process; `text` is the latest result, "" after a failure; `up` is None before the first."""

    def __init__(
        self, name: str, module: ModuleType, settings: ExporterSettings, log: Callable[[str], None]
    ) -> None:
        self.name, self.module, self._settings, self._log = name, module, settings, log
        self.text, self.seconds, self.reason = "", 0.0, ""
        self.up: Optional[bool] = None
        self.success_time: Optional[float] = None  # wall-clock time of the last success
        self.due = 0.0
        self.changed = False
        self._child: Optional[child.Child] = None
        self._deadline: Optional[float] = None
        self._rest_s = 0.0
        self._buffer = bytearray()

    @property
    def pipe(self) -> Optional[int]:
        """Return the result pipe of the collector's process while a collection runs, else None."""
        return self._child.answers if self._child and self._deadline is not None else None

    def next(self) -> float:
        """Return the monotonic time at which `tend` must be called next if no result comes before."""
        return self.due if self._deadline is None else self._deadline

    def tend(self, now: float, wall: float) -> None:
        """Advance the collector: start a collection if one is due, read its result, or fail it at its timeout."""
        if self._deadline is not None:
            self._receive(now, wall)
            if self._deadline is not None and now >= self._deadline:
                self._fail(now, f"no result in {self.module.TIMEOUT_S:g} s")
        elif now >= self.due:
            self._begin(now)

    def end(self) -> None:
        """Kill the collector's process, if it runs, and wait for its end."""
        if self._child:
            self._child.kill()
            self._child.ended()

    def _begin(self, now: float) -> None:
        """Start a collection; not while a process killed after a failure is blocked in the kernel.

        A new process would block too.
        """
        if self._child and (self._deadline is None and self._rest_s):
            if not self._child.ended():
                self.due = now + max(1.0, self._rest_s)
                return
            self._drop()
        if self._child and not self._child.trigger():
            self._drop()
        if not self._child:
            self._child = child.start(self.module, self._settings)
            self._child.trigger()
        self._buffer.clear()
        self._deadline = now + self.module.TIMEOUT_S

    def _receive(self, now: float, wall: float) -> None:
        assert self._child
        while True:
            try:
                data = os.read(self._child.answers, 1 << 16)
            except BlockingIOError:
                return
            if not data:
                self._fail(now, "its process ended without a result")
                return
            self._buffer += data
            if len(self._buffer) > MOST_BYTES:
                self._fail(now, f"its result is larger than {MOST_BYTES} bytes")
                return
            if self._parse_reply(now, wall):
                return

    def _parse_reply(self, now: float, wall: float) -> bool:
        line, newline, body = bytes(self._buffer).partition(b"\n")
        head = json.loads(line) if newline else {}
        if not head or len(body) < head["bytes"]:
            return False
        self.seconds = head["seconds"]
        if head["reason"]:
            self._fail(now, head["reason"])
            return True
        if self.up is False:
            self._log(f"collector {self.name}: works again")
        self.text, self.up, self.reason, self.success_time = body.decode("utf-8"), True, "", wall
        self.changed, self._deadline, self._rest_s = True, None, 0.0
        self.due = now + self.module.EVERY_S
        if not self.module.STAYS:
            self._stop()
        return True

    def _fail(self, now: float, reason: str) -> None:
        """Drop the collector's values, kill its process, and double the pause until the next start.

        The reason is logged if it differs from that of the last failure.
        """
        if reason != self.reason:
            self._log(f"collector {self.name}: {reason}")
        self.text, self.up, self.reason, self.changed = "", False, reason, True
        self._deadline = None
        self._rest_s = min(LONGEST_REST_S, 2 * self._rest_s or self.module.EVERY_S)
        self.due = now + self._rest_s
        if self._child:
            self._child.kill()

    def _stop(self) -> None:
        """Kill the collector's process after its result and wait for it; it is idle, so it ends at once."""
        assert self._child
        self._child.kill()
        self._child.wait()
        self._drop()

    def _drop(self) -> None:
        if self._child:
            self._child.close()
        self._child = None
