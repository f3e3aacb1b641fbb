"""Metrics of whether file systems respond: each has a probe process, and no new probe while one is blocked."""

from __future__ import annotations

import fcntl
import hashlib
import os
import select
import time
from typing import Any, Dict, Iterator, List

from clusterwright.onhost.exporter.settings import ExporterSettings
from clusterwright.onhost.exporter.text import Family, gauge

EVERY_S, TIMEOUT_S, STAYS = 15.0, 12.0, False
LIMIT_S = 5.0  # seconds; slower is a fault in leptonai/gpud and NVIDIA/deepops too


def is_enabled(settings: ExporterSettings) -> bool:
    """Return True if the settings name paths to probe."""
    return bool(settings.paths)


def collect(settings: ExporterSettings, _state: Dict[Any, Any]) -> Iterator[Family]:
    """Yield for each path of the settings whether statvfs succeeds in time (1 or 0), and its seconds."""
    answers = gauge("file_system_answers", "1 if the file system responds within 5 s without an error.")
    seconds = gauge("file_system_answer_seconds", "Response time of the file system.")
    for path, elapsed_s in probe_all(settings.paths, settings.run).items():
        answers.add(float(elapsed_s is not None), path=path)
        seconds.add(elapsed_s, path=path)
    yield from (answers, seconds)


def probe_all(paths: List[str], folder: str) -> Dict[str, Any]:
    """Return for each path how many seconds statvfs took; None if it failed, takes over LIMIT_S, or is blocked."""
    elapsed_by_path: Dict[str, Any] = dict.fromkeys(paths)
    open_pipes: Dict[int, str] = {}
    for path in paths:
        pipe = _probe(path, folder)
        if pipe >= 0:
            open_pipes[pipe] = path
    end = time.monotonic() + LIMIT_S
    while open_pipes and time.monotonic() < end:
        for pipe in select.select(list(open_pipes), [], [], max(0.0, end - time.monotonic()))[0]:
            reply = os.read(pipe, 100)
            elapsed_by_path[open_pipes.pop(pipe)] = float(reply) if reply else None
            os.close(pipe)
    return elapsed_by_path


def _probe(path: str, folder: str) -> int:
    """Start a process that probes a file system, and return the pipe for its result.

    -1 while an earlier probe of the path, which holds its lock, is blocked.
    """
    lock = os.open(_lock(path, folder), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return -1
    out, into = os.pipe()
    if not os.fork():
        _answer(path, into, lock)
    os.close(into)
    os.close(lock)
    return out


def _answer(path: str, into: int, lock: int) -> None:
    """Call statvfs of the path in this forked process, write the seconds to the pipe `into`, and end the process.

    It has its own process group, and no other file of the parent, which it may outlive.
    """
    try:
        os.setpgid(0, 0)
        low, second = sorted((into, lock))
        for begin, end in ((0, low), (low + 1, second), (second + 1, 1024)):
            os.closerange(begin, end)
        began = time.monotonic()
        os.statvfs(path)
        os.write(into, b"%.6f" % (time.monotonic() - began))
    except OSError:
        pass
    finally:
        os._exit(0)


def _lock(path: str, folder: str) -> str:
    return os.path.join(folder, f"held-{hashlib.sha256(path.encode()).hexdigest()[:16]}")
