"""The power saving settings of the cluster file, as rendered to the controller."""

import json
from typing import Any, Dict, NamedTuple

PATH = "/etc/slurm/clusterwright/power.json"
STATE = "/var/lib/clusterwright-power"  # the unit's StateDirectory
RUN = "/run/clusterwright-power"  # its RuntimeDirectory
KICK = RUN + "/kick"
LOG = "/var/log/slurm/power.log"


class PowerSettings(NamedTuple):
    """Settings of power saving: times in seconds, and `hosts` that may be powered down with their provider's fields."""

    provider: Dict[str, Any]
    hosts: Dict[str, Dict[str, str]]
    resume_timeout: int
    suspend_timeout: int
    spares: int
    max_attempts: int
    retry_after: int


def settings(path: str = PATH) -> PowerSettings:
    """Return the settings in the rendered file; a missing key is an internal error (TypeError)."""
    with open(path) as file:
        return PowerSettings(**json.load(file))
