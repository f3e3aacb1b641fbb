"""The lab: virtual hosts on one machine, each with its own systemd, sshd, networks and simulated GPUs."""

from clusterwright.lab.able import able
from clusterwright.lab.down import down
from clusterwright.lab.faults import fault, undo
from clusterwright.lab.state import LabState, labs
from clusterwright.lab.status import HostStatus, status
from clusterwright.lab.up import up

__all__ = ["HostStatus", "LabState", "able", "down", "fault", "labs", "status", "undo", "up"]
