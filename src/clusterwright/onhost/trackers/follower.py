"""Sends one run to one tracker: `python -m clusterwright.onhost.trackers.follower RUN NAME`, until the run has ended.

Errors go to `logs/trackers.log` in the run's folder, without secrets of the environment, and are retried. A tracker
that does not respond does not affect the training.
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
RETRY_S = 10.0  # after a failure: a server restarts within seconds
LAST_S = 20.0  # after the run's end: rows not sent by then are still in the run's folder
SECRET = re.compile(r"TOKEN|KEY|PASS|SECRET|CREDENTIAL|AUTH", re.IGNORECASE)
SHORT = 4  # characters of a value too short to be a secret: it would match ordinary words


class Follower:
    """Sends the rows of one run to one tracker until the run has ended."""

    def __init__(self, run: str, name: str) -> None:
        self._run, self._name, self._cursor = run, name, EventCursor(run, name)
        self._tracker: Any = None
        self._stop_requested = False
        self._parent = os.getppid()
        signal.signal(signal.SIGTERM, self._on_signal)

    def follow(self) -> int:
        """Send measurements until the run, or this job of it, has ended; return the exit code."""
        deadline: Optional[float] = None
        while True:
            over = self._over()
            deadline = time.monotonic() + LAST_S if over and deadline is None else deadline
            count = self._poll()
            if over and count == 0:
                return self._close()
            if over and deadline is not None and time.monotonic() > deadline:
                log(
                    f"{self._name}: not all rows were sent by the end of the run; the rest is sent when it resumes"
                )
                return 1
            time.sleep(RETRY_S if count is None and not over else POLL_INTERVAL_S if not count else 0)

    def _poll(self) -> Optional[int]:
        """Send new measurements of the run to the tracker and return their number, 0 if there are none.

        None after a failure, which is logged. Without the tracker's package the process exits with code 1.
        """
        try:
            rows = self._cursor.new()
            if self._tracker is None and (rows or self._over()):
                module = importlib.import_module(f"clusterwright.onhost.trackers.{self._name}")
                self._tracker = module.Tracker(self._run, self._cursor.own, config(self._run))
            if rows:
                self._tracker.log(rows)
                self._cursor.commit()
        except ImportError as error:
            log(
                f"{self._name}: {error}. Run `pip install {package(self._name)}` in the Python environment of the job"
            )
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
    """Return the name of the PyPI package that the tracker needs."""
    return {"mlflow": "mlflow-skinny"}.get(name, name)


def log(text: str, environ: Mapping[str, str] = os.environ) -> None:
    """Write the time and a text as one line to stderr, with the user's secrets replaced."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {without_secrets(text, environ)}\n")
    sys.stderr.flush()


def without_secrets(text: str, environ: Mapping[str, str]) -> str:
    """Return the text with secrets replaced: values of variables with secret-like names, and credentials in URLs."""
    for name, value in environ.items():
        if SECRET.search(name) and len(value) > SHORT:
            text = text.replace(value, f"<{name}>")
    return re.sub(r"(\w+://)[^/\s@]+@", r"\1", text)


class _Clean:
    """A stream that replaces secrets in what is written, since libraries print on their own."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text with secrets replaced to the wrapped stream; return the length of the original text."""
        self._stream.write(without_secrets(text, os.environ))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def main() -> int:
    """Send the run RUN to the tracker NAME of the command line; return the exit code."""
    run, name = sys.argv[1:]
    if name not in NAMES:
        log(f"unknown tracker {name}. Use one of {', '.join(NAMES)}")
        return 2
    sys.stdout, sys.stderr = _Clean(sys.stdout), _Clean(sys.stderr)
    return Follower(run, name).follow()


if __name__ == "__main__":
    sys.exit(main())
