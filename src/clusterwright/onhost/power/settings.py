"""What the cluster file says of power saving, as it lies on the control host."""

import json
from typing import Any, Dict, NamedTuple

PATH = "/etc/slurm/clusterwright/power.json"
STATE = "/var/lib/clusterwright-power"  # the unit's StateDirectory
RUN = "/run/clusterwright-power"  # its RuntimeDirectory
KICK = RUN + "/kick"
LOG = "/var/log/slurm/power.log"


class Settings(NamedTuple):
    """Times in seconds; `hosts` are those that may be switched off, each with what its provider needs."""

    provider: Dict[str, Any]
    hosts: Dict[str, Dict[str, str]]
    resume_timeout: int
    suspend_timeout: int
    spares: int
    max_attempts: int
    retry_after: int


def settings(path: str = PATH) -> Settings:
    """The file's; a key that is missing is a fault of ours."""
    with open(path) as file:
        return Settings(**json.load(file))
