"""Metrics of the health program's last check of this host."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, Iterator, Tuple

from clusterwright.onhost.exporter.settings import ExporterSettings
from clusterwright.onhost.exporter.state_files import text_of
from clusterwright.onhost.exporter.text import Family, gauge

EVERY_S, TIMEOUT_S, STAYS = 15.0, 15.0, False
FAULTS_FILE = "found"  # written by provision/render/hooks/health: a line for each fault
_CHECK = re.compile(r"[a-z]+(-[a-z0-9]+)+")  # a line's code; other lines continue a driver's message
_PART = re.compile(r"GPU-[0-9a-f-]+|/\S*|\b[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\b")


def is_enabled(settings: ExporterSettings) -> bool:
    """Return True if slurmd, and so the health program, runs on this host by the settings."""
    return settings.slurmd


def collect(settings: ExporterSettings, _state: Dict[Any, Any]) -> Iterator[Family]:
    """Yield 1 for each faulty part of this host and the time of the last check, from the health program's file.

    Nothing before the first check; lines that name no check are left out.
    """
    path = os.path.join(settings.hooks, FAULTS_FILE)
    try:
        when = os.stat(path).st_mtime
    except OSError:
        return
    verdicts = gauge("verdict", "1 for each faulty part of this host, by the health program.")
    for line in text_of(path).splitlines():
        check, part = _split(line)
        if _CHECK.fullmatch(check):
            verdicts.add(1.0, check=check, part=part, status="fail")
    yield verdicts
    last_check = gauge("verdict_timestamp_seconds", "Time of the health program's last check.")
    yield last_check.add(when)


def _split(line: str) -> Tuple[str, str]:
    """Return the check's code at the start of a line, and the part (GPU, path or PCI device) that it names, else ""."""
    check, _, detail = line.strip().partition(" ")
    part = _PART.search(detail)
    return check, part[0] if part else ""
