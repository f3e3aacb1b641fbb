"""Runs the collectors, each in a process with a time limit, and writes their latest texts into a folder.

It has one thread and no locks, because it forks. The HTTP server of the texts is a separate process, too.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import time
from typing import Iterator, List, Optional

from clusterwright.onhost.exporter import collectors, server
from clusterwright.onhost.exporter.collector_process import CollectorProcess
from clusterwright.onhost.exporter.settings import ExporterSettings
from clusterwright.onhost.exporter.text import Family, counter, gauge, rendered
from clusterwright.onhost.lib.files import write_atomic

SELF_NAME = "exporter"  # name of the text with metrics about the collectors themselves
REST_S = 5.0  # seconds before the server is started again


class Keeper:
    """All collectors of this host, and the server."""

    def __init__(self, settings: ExporterSettings) -> None:
        self.settings = settings
        modules = collectors.enabled_collectors(settings)
        self.collector_processes = [
            CollectorProcess(name, module, settings, log) for name, module in modules.items()
        ]
        self._server: Optional[server.Process] = None
        self._server_at = 0.0
        self._restarts = 0
        os.makedirs(settings.run, mode=0o700, exist_ok=True)
        for name in os.listdir(settings.run):
            if name.endswith(server.ENDING):
                os.unlink(os.path.join(settings.run, name))

    def serve(self) -> None:
        """Run collectors and server until SIGTERM or SIGINT."""
        gc.collect()
        gc.freeze()  # keeps the present objects' pages shared between all processes
        ended: List[int] = []
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda received, _frame: ended.append(received))
        self._write(SELF_NAME, rendered(self._self_metrics()))
        try:
            while not ended:
                self._ensure_server(time.monotonic())
                self.turn()
        finally:
            self.end()

    def collect_once(self) -> str:
        """Run each collector once and return the metrics of all as one text."""
        try:
            while any(collector.up is None for collector in self.collector_processes):
                self.turn()
        finally:
            self.end()
        return server.joined(self.settings.run)

    def turn(self) -> None:
        """Advance all collectors, write their new texts to files, and wait for the next result or due collector."""
        now = time.monotonic()
        for collector in self.collector_processes:
            collector.tend(now, time.time())
        for collector in self.collector_processes:
            if collector.changed:
                collector.changed = False
                self._write(collector.name, collector.text)
                self._write(SELF_NAME, rendered(self._self_metrics()))
        soon = min([collector.next() for collector in self.collector_processes] + [now + REST_S])
        pipes = [collector.pipe for collector in self.collector_processes if collector.pipe is not None]
        with contextlib.suppress(InterruptedError):
            select.select(pipes, [], [], max(0.0, soon - time.monotonic()))

    def end(self) -> None:
        """Kill the processes of all collectors and of the server."""
        for collector in self.collector_processes:
            collector.end()
        if self._server:
            self._server.end()

    def _ensure_server(self, now: float) -> None:
        if self._server and self._server.ended():
            self._server, self._restarts = None, self._restarts + 1
        if not self._server and now >= self._server_at:
            self._server_at = now + REST_S
            self._server = server.start(self.settings)

    def _self_metrics(self) -> Iterator[Family]:
        """Yield metrics about the collectors and the HTTP server, and the GPUs that the cluster file declares."""
        up = gauge("collector_up", "1 if the last collection succeeded.")
        seconds = gauge("collector_seconds", "Duration of the last collection.")
        last = gauge("collector_success_timestamp_seconds", "Time of the last successful collection.")
        for collector in self.collector_processes:
            up.add(None if collector.up is None else float(collector.up), collector=collector.name)
            seconds.add(collector.seconds if collector.up else None, collector=collector.name)
            last.add(collector.success_time, collector=collector.name)
        yield from (up, seconds, last)
        restarts = counter("exporter_server_restarts_total", "Restarts of the exporter's HTTP server.")
        yield restarts.add(float(self._restarts))
        declared = gauge("gpus_declared", "GPUs of this host in the cluster file.")
        yield declared.add(float(self.settings.gpus) if self.settings.slurmd else None)

    def _write(self, name: str, text: str) -> None:
        """Write a collector's metrics to its file atomically; if that fails, log the error, and the old file stays."""
        path = os.path.join(self.settings.run, name + server.ENDING)
        try:
            write_atomic(path, text, durable=False)
        except OSError as error:
            log(f"cannot write {path}: {error}")


def log(text: str) -> None:
    """Write a line to stderr, which goes to the journal."""
    with contextlib.suppress(OSError):
        os.write(2, f"{text}\n".encode("utf-8", "replace"))
