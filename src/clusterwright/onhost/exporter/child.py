"""The process of a collector, which collects at each request; requests and results go through two pipes."""

from __future__ import annotations

import json
import os
import signal
import time
from types import ModuleType
from typing import Any, Dict

from clusterwright.onhost.exporter.settings import ExporterSettings
from clusterwright.onhost.exporter.text import rendered

START_BYTE = b"."
_OOM_SCORE = b"500"  # the kernel kills a collector before its parent (proc(5), oom_score_adj)


def start(module: ModuleType, settings: ExporterSettings) -> Child:
    """Fork a process for a collector's module, which collects on request; return the parent's side of it."""
    orders_out, orders_in = os.pipe()
    answers_out, answers_in = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(orders_in)
        os.close(answers_out)
        _serve_requests(module, settings, orders_out, answers_in)
    os.close(orders_out)
    os.close(answers_in)
    return Child(pid, orders_in, answers_out)


class Child:
    """The parent's side of a collector's process: pid, request pipe and result pipe."""

    def __init__(self, pid: int, orders: int, answers: int) -> None:
        self.pid, self.orders, self.answers = pid, orders, answers
        self.is_reaped = False
        os.set_blocking(answers, False)

    def trigger(self) -> bool:
        """Request one collection of the collector's process; return False if the process has ended."""
        try:
            return os.write(self.orders, START_BYTE) == 1
        except OSError:
            return False

    def kill(self) -> None:
        """Kill the collector's process and its children; one blocked in the kernel ends when that releases it.

        Does nothing once `ended` has returned True.
        """
        for end in () if self.is_reaped else (os.killpg, os.kill):
            try:
                end(self.pid, signal.SIGKILL)
            except OSError:
                continue

    def ended(self) -> bool:
        """Return True once the collector's process has ended."""
        if not self.is_reaped:
            try:
                self.is_reaped = os.waitpid(self.pid, os.WNOHANG)[0] != 0
            except ChildProcessError:
                self.is_reaped = True
        return self.is_reaped

    def wait(self) -> None:
        """Wait for the end of the collector's process."""
        if not self.is_reaped:
            os.waitpid(self.pid, 0)
            self.is_reaped = True

    def close(self) -> None:
        """Close the pipes to the collector's process."""
        os.close(self.orders)
        os.close(self.answers)


def _serve_requests(module: ModuleType, settings: ExporterSettings, orders: int, answers: int) -> None:
    """Collect at each request until the parent closes the pipe, then exit.

    It also exits after a failed collection, and after the first one of a module that does not stay.
    """
    try:
        _isolate_process()
        state: Dict[Any, Any] = {}
        while os.read(orders, 1):
            reply, is_ok = answer(module, settings, state)
            _write(answers, reply)
            if not is_ok or not module.STAYS:
                break
    finally:
        os._exit(0)


def _isolate_process() -> None:
    """Start a process group, reset signal handlers, and raise the OOM score if the kernel permits it."""
    os.setpgid(0, 0)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    try:
        with open("/proc/self/oom_score_adj", "wb") as file:
            file.write(_OOM_SCORE)
    except OSError:
        return


def answer(module: ModuleType, settings: ExporterSettings, state: Dict[Any, Any]) -> Any:
    """Collect once; return what the parent gets, a JSON header line and the metrics, and True if that succeeded.

    An error of the collector is in the header, and the metrics are then empty.
    """
    began, text, reason = time.monotonic(), "", ""
    try:
        text = rendered(module.collect(settings, state))
    except Exception as error:  # noqa: BLE001 (reported in the header; the next collection may succeed)
        reason = f"{type(error).__name__}: {error}"
    data = text.encode("utf-8", "replace")
    head = {"reason": reason[:500], "seconds": round(time.monotonic() - began, 6), "bytes": len(data)}
    return json.dumps(head).encode() + b"\n" + data, not reason


def _write(pipe: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(pipe, view) :]
