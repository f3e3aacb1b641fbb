"""What the health program on this host has found when it looked last."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, Iterator, Tuple

from clusterwright.onhost.exporter.settings import Settings
from clusterwright.onhost.exporter.state_files import text_of
from clusterwright.onhost.exporter.text import Family, gauge

EVERY_S, TIMEOUT_S, STAYS = 15.0, 15.0, False
FAULTS_FILE = (
    "found"  # written by provision/render/hooks/health: a line for each fault, none where all is well
)
_CHECK = re.compile(r"[a-z]+(-[a-z0-9]+)+")  # a line may be the rest of what a driver said
_PART = re.compile(r"GPU-[0-9a-f-]+|/\S*|\b[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\b")


def is_enabled(settings: Settings) -> bool:
    """It runs where slurmd does."""
    return settings.slurmd


def collect(settings: Settings, _state: Dict[Any, Any]) -> Iterator[Family]:
    """Nothing before it has looked."""
    path = os.path.join(settings.hooks, FAULTS_FILE)
    try:
        when = os.stat(path).st_mtime
    except OSError:
        return
    verdicts = gauge("verdict", "1 for each part of this host that is not well, as the health program says.")
    for line in text_of(path).splitlines():
        check, part = _split(line)
        if _CHECK.fullmatch(check):
            verdicts.add(1.0, check=check, part=part, status="fail")
    yield verdicts
    last_check = gauge("verdict_timestamp_seconds", "When the health program looked last.")
    yield last_check.add(when)


def _split(line: str) -> Tuple[str, str]:
    """Its code, and the GPU, folder or device that it names."""
    check, _, detail = line.strip().partition(" ")
    part = _PART.search(detail)
    return check, part[0] if part else ""
