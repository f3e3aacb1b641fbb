"""The demo's log: chapters with their seconds, and lines below them."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from clusterwright.edge.clock import Clock
from clusterwright.i18n import _


class Talk:
    """Writes log lines, and stores how long each chapter took."""

    def __init__(self, write: Callable[[str], None], clock: Clock) -> None:
        self._write, self._clock = write, clock
        self._began = clock.monotonic()
        self.seconds: dict[str, float] = {}

    def log(self, text: str) -> None:
        """Write each line of a text below the chapter, with the seconds since the demo began."""
        for line in text.splitlines():
            self._write(f"{self._now():7.1f} s    {line}")

    @contextmanager
    def chapter(self, name: str, title: str) -> Iterator[None]:
        """Write the title of a chapter before a `with` block, and after it how long it took.

        The seconds are stored under `name`, also if it fails.
        """
        began = self._clock.monotonic()
        self._write(f"{self._now():7.1f} s  {title}")
        outcome = "failed"
        try:
            yield
            outcome = "done"
        finally:
            self.seconds[name] = self._clock.monotonic() - began
            self.log(_("{outcome} in {seconds:.1f} s", outcome=outcome, seconds=self.seconds[name]))

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Answer Ctrl-C and SIGTERM with a note in a `with` block, so that it can remove a lab to its end."""

        def answer(_number: int, _frame: object) -> None:
            self.log(_("this step takes a few seconds and needs no intervention"))

        previous_handlers = {
            number: signal.signal(number, answer) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in previous_handlers.items():
                signal.signal(number, handler)

    def end(self) -> None:
        """Store the seconds since the demo began as `total`."""
        self.seconds["total"] = self._now()

    def _now(self) -> float:
        return self._clock.monotonic() - self._began
