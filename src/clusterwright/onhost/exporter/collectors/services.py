"""Metrics of whether munge and slurmd respond, each within a time limit."""

from __future__ import annotations

import os
import shutil
from typing import Any, Dict, Iterator

from clusterwright.onhost.exporter.commands import command_output
from clusterwright.onhost.exporter.settings import ExporterSettings
from clusterwright.onhost.exporter.text import Family, gauge

EVERY_S, TIMEOUT_S, STAYS = 30.0, 30.0, False
LIMIT_S = 10.0  # seconds, our choice: both respond in milliseconds, but a busy host starts programs slowly


def is_enabled(_settings: ExporterSettings) -> bool:
    """Return True if munge is installed."""
    return shutil.which("munge") is not None


def collect(settings: ExporterSettings, _state: Dict[Any, Any]) -> Iterator[Family]:
    """Yield 1 or 0: whether a munge credential can be encoded and decoded, and whether slurmd answers a message.

    The latter only where slurmd runs; an open port of slurmd would prove nothing.
    """
    munge = gauge("munge_answers", "1 if munge encodes and decodes a credential.")
    yield munge.add(
        float(command_output(["sh", "-c", "munge -n </dev/null | unmunge >/dev/null"], LIMIT_S) is not None)
    )
    if settings.slurmd and shutil.which("scontrol"):
        slurmd = gauge("slurmd_answers", "1 if this host's slurmd responds to a message.")
        output = command_output(
            ["scontrol", "show", "slurmd"], LIMIT_S, {"SLURMD_NODENAME": os.uname().nodename}
        )
        yield slurmd.add(float(bool(output and "Slurmd PID" in output)))
