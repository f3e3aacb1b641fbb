"""How agents detect a lost supervisor, and start another one inside the job.

An agent without messages ends its ranks first (node.py), then reads the heartbeat in the run's folder. If the
heartbeat advances, the agent itself is isolated. If it has stopped, the supervisor is lost, and the agent
that claims the next number of the chain starts a supervisor as its child. An agent that cannot reach Slurm
claims nothing; in a run without a scheduler, the folder itself decides.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, Dict, List, Mapping, Tuple

from clusterwright.onhost.lib.run_module import module_arguments
from clusterwright.onhost.supervisor import heartbeat as p
from clusterwright.onhost.supervisor import schedulers, ssh_hosts
from clusterwright.onhost.supervisor.folder import Folder
from clusterwright.onhost.supervisor.host import processes
from clusterwright.onhost.supervisor.job import JobRecord

MISSED_BEATS = 2.5  # heartbeats that must be missing: two may be late on a busy file server
# Time for a claimant's supervisor to start, which reads its modules and the run from the shared folder: claimants that
# are followed too early replace each other without end.
START_S = 15.0
FAILOVER_MODULE = "clusterwright.onhost.supervisor.failover_supervisor"
SHUTDOWN_S = 60.0  # time for a child supervisor to end the job, with its calls of scancel and sbatch


class Failover:
    """An agent's view of the current supervisor, and the supervisor that it has started itself (`child`), if any."""

    def __init__(self, folder: Folder, record: JobRecord, supervisor_address: Tuple[str, int]) -> None:
        self.supervisor_address = supervisor_address
        self.child = 0
        self._folder, self._record = folder, record
        self._orders: Mapping[str, Any] = {}
        self._heartbeat = p.Heartbeat(p.Beat(), time.monotonic())

    @property
    def over(self) -> bool:
        """Return True if the run has ended or another job continues it, so that this job has nothing left to do."""
        newest = self._folder.read(p.NAME)
        job_id = os.environ.get("SLURM_JOB_ID", newest.get("job_id"))
        return bool(
            newest.get("over") or newest.get("job_id", job_id) != job_id or self._folder.has("ended.json")
        )

    def greeted(self, orders: Mapping[str, Any]) -> None:
        """Store the orders (settings of the run) of a supervisor that has authenticated itself."""
        self._orders = orders
        self.record_beats(0)

    def record_beats(self, count: int) -> None:
        """Record that the supervisor's heartbeat with this count has arrived now."""
        self._heartbeat = p.Heartbeat(p.Beat(int(self._orders["number"]), count), time.monotonic())

    def turn(self) -> None:
        """Read the heartbeat file: follow a newer supervisor; if the heartbeat has stopped, try to start another.

        None is started for a local run, or before the first supervisor has sent its orders.
        """
        document = self._folder.read(p.NAME)
        stalled_s = self._heartbeat.stalled_s(p.Beat.from_document(document), time.monotonic())
        if self._heartbeat.last_beat.number > int(self._orders.get("number", 0)) and document.get("port"):
            self.supervisor_address = p.listen_address(document)
        if self._orders and not self._record.local and stalled_s > MISSED_BEATS * float(self._orders["beat"]):
            self._claim(self._heartbeat.last_beat.number + 1, round(stalled_s, 2))

    def wait(self) -> None:
        """Wait until the supervisor that this agent started has ended, at most SHUTDOWN_S.

        Slurm kills it when the agent ends.
        """
        deadline = time.monotonic() + SHUTDOWN_S
        while self.child and time.monotonic() < deadline:
            if self.child in [pid for pid, _ in processes.reap()] or self.child not in _descendants():
                return
            time.sleep(0.05)

    def _claim(self, number: int, unresponsive_s: float) -> None:
        job_id = (
            os.environ["SLURM_JOB_ID"] if self._record.in_slurm else self._folder.read(p.NAME).get("job_id")
        )
        if not job_id or (self._record.in_slurm and not schedulers.in_reach(job_id)):
            return
        if self._folder.claim(f"chain/{number}", job_id):
            self._start(number, job_id, unresponsive_s)
        # if the claimant never sends a heartbeat, the next number is claimed
        start_s = max(START_S, self._record.job.recovery.heartbeat_timeout)
        self._heartbeat = p.Heartbeat(p.Beat(number), time.monotonic() + start_s)

    def _start(self, number: int, job_id: str, heartbeat_age_s: float) -> None:
        """Start supervisor `number` of the run as a child process that ends with this agent, and store its process id.

        It replaces the supervisor that has not responded for `heartbeat_age_s`.
        """
        orders = {
            **self._orders,
            "number": number,
            "lost_host": self._orders["supervisor"],
            "heartbeat_age_s": heartbeat_age_s,
        }
        argv = [sys.executable, *module_arguments(FAILOVER_MODULE, self._folder.path)]
        log = self._folder.path_to(f"slurm-{job_id}.out" if self._record.in_slurm else "job.out")
        environment = {**child_environment(), ssh_hosts.JOB_ID: job_id}
        process: Any = processes.start(argv, environment, log, orders=True)
        process.stdin.write(json.dumps(orders).encode() + b"\n")
        process.stdin.close()
        process.returncode = 0  # `ranks.reap` or `wait` collects it
        self.child = process.pid


def child_environment() -> Dict[str, str]:
    """Return the environment for a child supervisor: without variables of this step that its srun would read."""
    inherited_names = (
        "SLURM_JOB_ID",
        "SLURM_CONF",
        "SLURM_CPUS_PER_TASK",
        "SLURMD_NODENAME",
        "SLURM_JOB_END_TIME",
    )
    ours = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SLURM", "SRUN_", "PMI")) or name in inherited_names
    }
    return {**ours, "SLURM_EXPORT_ENV": "ALL"}


def _descendants() -> List[int]:
    return processes.descendants(os.getpid())
