"""What an agent does when the supervisor's own host is gone: nobody else is left to call a successor."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any, Mapping

from clusterwright.train.agent import room
from clusterwright.train.agent.folder import Events, Folder
from clusterwright.train.agent.options import Options

# The agents that were not first wait this long for the first to end the job; sbatch and scancel take 0.1 s each.
OTHERS_S = 15.0


class Pulse:
    """The supervisor's second sign of life: a counter in the run's folder, seen over storage."""

    def __init__(self, folder: Folder, now: float) -> None:
        self._folder, self._seen, self._since = folder, folder.read("pulse"), now

    def stopped(self, now: float, silence_s: float) -> bool:
        """True when it has not moved for that long."""
        seen = self._folder.read("pulse")
        if seen != self._seen:
            self._seen, self._since = seen, now
        return now - self._since > silence_s


def take_over(folder: Folder, orders: Mapping[str, Any], host: str) -> int:
    """Call the successor and end the job, once among all agents; the exit code of this agent."""
    if not orders or orders["local"] or folder.has("ended.json"):
        return 1
    # from here on Slurm's SIGTERM is welcome: ignored, it would hold the host for KillWait (30 s by default)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    job_id = os.environ.get("SLURM_JOB_ID", "")
    if folder.claim(f"chain/handover-{job_id}", host):
        _hand_over(folder, orders, host)
    else:
        time.sleep(OTHERS_S)
    room.slurm("scancel", job_id)
    return 1


def _hand_over(folder: Folder, orders: Mapping[str, Any], host: str) -> None:
    lost, generation = orders["supervisor"], folder.last_generation()
    events = Events(folder, f"agent-{host}", host)
    events.write("host_lost", generation, lost=lost, silence_s=orders["silence"])
    if orders["successors"] <= 0 or orders["on_host_loss"] == "fail":
        why = f"lost {lost}, the supervisor's host, and no successor is wanted"
        folder.write("ended.json", {"outcome": "failed", "code": 1, "why": why, "time": time.time()})
        events.write("job_end", generation, outcome="failed", why=why)
        return
    names = Options.__dataclass_fields__
    options = Options(**{name: value for name, value in orders.items() if name in names})
    successor, said = room.succeed(folder, options, [lost])
    sys.stderr.write(f"{host}: successor {successor or 'refused: ' + said}\n")
    if successor:
        events.write("successor", generation, job_id=successor, exclude=[lost])
        standby = folder.read("standby.json").get("job_id")
        if standby:
            room.slurm("scancel", standby)
