"""Metric of whether slurmdbd responds, if Slurm uses it."""

from __future__ import annotations

from typing import Any, Dict, Iterator

from clusterwright.onhost.exporter.commands import command_output
from clusterwright.onhost.exporter.settings import ExporterSettings
from clusterwright.onhost.exporter.text import Family, gauge

EVERY_S, TIMEOUT_S, STAYS = 30.0, 30.0, False
LIMIT_S = 10.0


def is_enabled(settings: ExporterSettings) -> bool:
    """Return True if this host is the controller, where slurmctld runs."""
    return settings.control


def collect(_settings: ExporterSettings, _state: Dict[Any, Any]) -> Iterator[Family]:
    """Yield the metric `slurm_accounting_up`: 1 if slurmdbd responds, else 0.

    Nothing if slurmctld does not respond or uses no slurmdbd.
    """
    config = command_output(["scontrol", "show", "config"], LIMIT_S) or ""
    if "accounting_storage/slurmdbd" not in config:
        return
    output = command_output(["sacctmgr", "-n", "-P", "show", "cluster", "format=cluster"], LIMIT_S)
    yield gauge("slurm_accounting_up", "1 if slurmdbd responds.").add(float(output is not None))
