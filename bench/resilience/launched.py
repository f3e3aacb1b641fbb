"""A started training: its marks so far, and its end, after which no process is left."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bench.resilience.said import Said
from bench.resilience.systems import System, environment


class Launched(Said):
    """A training of one system in its own folder."""

    def __init__(self, system: System, folder: Path, **env: str) -> None:
        super().__init__(folder)
        self.system = system
        self.processes: list[subprocess.Popen[bytes]] = []
        self._watched: dict[int, int] = {}
        self.ends: dict[int, float] = {}  # pid: time of exit
        for start in system.starts(folder):
            out = (folder / "out").open("ab")
            self.processes.append(
                subprocess.Popen(
                    start.argv, env={**environment(folder, start), **env}, stdin=subprocess.DEVNULL,
                    stdout=out, stderr=subprocess.STDOUT, start_new_session=True, cwd=folder,
                )
            )  # fmt: skip
            out.close()

    def tail(self, wait_s: float = 0.01) -> None:
        """Read new marks and exits for `wait_s` seconds."""
        self._poll(wait_s)
        self.take_in()

    def until(self, seen: Callable[[], Any], limit_s: float) -> Any:
        """Poll `seen` until it returns a true value, and return that; None after the limit or the training's end."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            self.tail()
            if found := seen():
                return found
            if self.over():
                self.tail()
                return seen()
        return None

    def over(self) -> bool:
        """Return whether the launcher has exited; processes that `wright` started are found by their folder."""
        return any(each.poll() not in (None, 0) for each in self.processes) or (
            all(each.poll() == 0 for each in self.processes) and not self.alive()
        )

    def alive(self) -> list[int]:
        """Return the pids of this training, found by the folder in their environment."""
        mark, found = f"BENCH_FOLDER={self.folder}\0".encode(), []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    if mark in (entry / "environ").read_bytes():
                        found.append(int(entry.name))
        return found

    def watch(self, pids: Iterator[int] | list[int]) -> None:
        """Watch these processes, and record the time at which each exits."""
        for pid in pids:
            with suppress(ProcessLookupError):
                self._watched[os.pidfd_open(pid)] = pid

    def _poll(self, wait_s: float) -> None:
        poller = select.poll()
        for each in self._watched:
            poller.register(each, select.POLLIN)
        for each, _ in poller.poll(wait_s * 1000):
            self.ends[self._watched.pop(each)] = time.time()
            os.close(each)

    def finish(self, limit_s: float) -> int | None:
        """Wait for the end of a training; return its exit code, None after the limit."""
        self.until(lambda: None, limit_s)
        return self.processes[0].poll()

    def last_words(self) -> str:
        """Return the last error in the log, or else its last line."""
        lines = (self.folder / "out").read_text(errors="replace").strip().splitlines()
        said = [each for each in lines if "Error" in each] or lines
        return said[-1][-300:] if said else ""

    def end(self) -> None:
        """Kill all its processes, repeatedly until none is left."""
        deadline = time.monotonic() + 10
        while (left := self.alive()) and time.monotonic() < deadline:
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        for each in self.processes:
            each.wait(timeout=5)
        for each in self._watched:
            os.close(each)
        self._watched.clear()


@contextmanager
def launched(system: System, *, keep: Path | None = None, **env: str) -> Iterator[Launched]:
    """Start a training; end it and remove its folder at the end. Logs of a failed one are copied to `keep`."""
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # `timeout` sends it
    training = Launched(system, folder, **env)
    try:
        yield training
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        training.end()
        if keep:
            shutil.copytree(folder, keep, dirs_exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        signal.signal(signal.SIGTERM, before)
