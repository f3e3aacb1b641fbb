"""The end of a job: the run ends, or another job continues it; each function returns the supervisor's exit code."""

from __future__ import annotations

import time
from typing import Callable

from clusterwright.onhost.lib.run_outcome import EXIT_CODES, FAILED
from clusterwright.onhost.supervisor import decide as d
from clusterwright.onhost.supervisor import ssh_hosts
from clusterwright.onhost.supervisor.folder import Events, Folder

# sysexits.h EX_TEMPFAIL, for local_scheduler.py and host_keeper.py; under Slurm a handoff exits with 0
EXIT_HANDOFF = 75


class Ending:
    """Logs, events and files at the end of one job; `began` is the first failure, or empty."""

    def __init__(
        self,
        folder: Folder,
        scheduler: ssh_hosts.Scheduler,
        events: Events,
        log: Callable[[str], None],
        *,
        in_slurm: bool,
    ) -> None:
        self._folder, self._scheduler, self._events, self._log = folder, scheduler, events, log
        self._in_slurm = in_slurm

    def end_with_handoff(self, action: d.Handoff, generation: int, began: str) -> int:
        """Submit a successor job that continues the run without the lost hosts; return this job's exit code.

        If Slurm refuses it, leave the run to the standby job, or without one end it as failed.
        """
        job_id, error = self._scheduler.submit_successor(action.lost_hosts)
        if not job_id and self._scheduler.has_standby:
            self._log(
                f"{action.reason}; Slurm refused a successor: {error}; the standby job continues the run"
            )
            return 1
        if not job_id:
            return self.end(FAILED, f"{action.reason}; Slurm refused a successor: {error}", generation, began)
        self._log(f"successor {job_id}: {action.reason}")
        self._events.write(
            "successor", generation, job_id=job_id, exclude=list(action.lost_hosts), reason=action.reason
        )
        self._events.write("job_end", generation, outcome="handed-over", reason=action.reason)
        return 0 if self._in_slurm else EXIT_HANDOFF

    def end(self, outcome: str, reason: str, generation: int, began: str) -> int:
        """End the run: write its outcome to ended.json and the log, cancel the standby job; return its exit code.

        The first failure (`began`) is appended to the reason.
        """
        self._scheduler.cancel_standby()
        reason = f"{reason}; first failure: {began}" if began else reason
        self._log(f"{outcome}: {reason}")
        ended = {"outcome": outcome, "code": EXIT_CODES[outcome], "reason": reason, "time": time.time()}
        self._folder.write("ended.json", ended)
        self._events.write("job_end", generation, outcome=outcome, reason=reason)
        return EXIT_CODES[outcome]
