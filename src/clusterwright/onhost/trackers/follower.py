"""One tracker of one run: `python -m clusterwright.onhost.trackers.follower RUN NAME`, until the run is over.

What goes wrong is said in the run's folder (`logs/trackers.log`), without what the environment keeps secret; then it is
tried again. A tracker that does not answer costs the training nothing.
"""

from __future__ import annotations

import importlib
import os
import re
import signal
import sys
import time
from typing import Any, Mapping, Optional

from clusterwright.onhost.trackers.event_cursor import EventCursor, config

NAMES = ("tensorboard", "mlflow", "wandb", "swanlab")
POLL_INTERVAL_S = 1.0
RETRY_S = 10.0  # after a failure: a server that starts anew is back in some seconds
LAST_S = 20.0  # after the run's end: what is not told by then is in the run's folder still
SECRET = re.compile(r"TOKEN|KEY|PASS|SECRET|CREDENTIAL|AUTH", re.IGNORECASE)
SHORT = 4  # letters of a value that are too few to be a secret, and would be found in every word


class Follower:
    """A tracker, and the events that it has still to be told."""

    def __init__(self, run: str, name: str) -> None:
        self._run, self._name, self._cursor = run, name, EventCursor(run, name)
        self._tracker: Any = None
        self._stop_requested = False
        self._parent = os.getppid()
        signal.signal(signal.SIGTERM, self._on_signal)

    def follow(self) -> int:
        """Until the run is over, or this job of it; the exit code."""
        deadline: Optional[float] = None
        while True:
            over = self._over()
            deadline = time.monotonic() + LAST_S if over and deadline is None else deadline
            count = self._poll()
            if over and count == 0:
                return self._close()
            if over and deadline is not None and time.monotonic() > deadline:
                log(
                    f"{self._name}: not all was told by the end; what is missing is told when the run goes on"
                )
                return 1
            time.sleep(RETRY_S if count is None and not over else POLL_INTERVAL_S if not count else 0)

    def _poll(self) -> Optional[int]:
        """How many new rows were told; None for a failure."""
        try:
            rows = self._cursor.new()
            if self._tracker is None and (rows or self._over()):
                module = importlib.import_module(f"clusterwright.onhost.trackers.{self._name}")
                self._tracker = module.Tracker(self._run, self._cursor.own, config(self._run))
            if rows:
                self._tracker.log(rows)
                self._cursor.commit()
        except ImportError as error:
            log(f"{self._name}: {error}: pip install {package(self._name)} into the Python that the job runs")
            raise SystemExit(1) from None
        except Exception as error:  # noqa: BLE001 (a thread that must never end)
            log(f"{self._name}: {type(error).__name__}: {error}")
            return None
        return len(rows)

    def _close(self) -> int:
        try:
            if self._tracker is not None:
                self._tracker.close(finished=os.path.exists(os.path.join(self._run, "finished.json")))
                self._cursor.commit()
        except Exception as error:  # noqa: BLE001 (a thread that must never end)
            log(f"{self._name}: {type(error).__name__}: {error}")
            return 1
        return 0

    def _over(self) -> bool:
        ended = os.path.exists(os.path.join(self._run, "ended.json"))
        return ended or self._stop_requested or os.getppid() != self._parent

    def _on_signal(self, *_: Any) -> None:
        self._stop_requested = True


def package(name: str) -> str:
    """What pip calls it."""
    return {"mlflow": "mlflow-skinny"}.get(name, name)


def log(text: str, environ: Mapping[str, str] = os.environ) -> None:
    """One line into the log, without secrets."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {without_secrets(text, environ)}\n")
    sys.stderr.flush()


def without_secrets(text: str, environ: Mapping[str, str]) -> str:
    """The values of variables whose names say that they are secret are left out, and what a URL has before its @."""
    for name, value in environ.items():
        if SECRET.search(name) and len(value) > SHORT:
            text = text.replace(value, f"<{name}>")
    return re.sub(r"(\w+://)[^/\s@]+@", r"\1", text)


class _Clean:
    """A stream that lets no secret through: libraries say much on their own."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """As a stream's."""
        self._stream.write(without_secrets(text, os.environ))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def main() -> int:
    """Follow the run that the arguments name."""
    run, name = sys.argv[1:]
    if name not in NAMES:
        log(f"no tracker is called {name}; there are {', '.join(NAMES)}")
        return 2
    sys.stdout, sys.stderr = _Clean(sys.stdout), _Clean(sys.stderr)
    return Follower(run, name).follow()


if __name__ == "__main__":
    sys.exit(main())
