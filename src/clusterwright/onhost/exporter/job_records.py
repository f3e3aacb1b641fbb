"""Accounts, partitions and names of this host's jobs, from slurmctld, as users can change the environment of a job."""

from __future__ import annotations

import time
from typing import Dict, List

from clusterwright.onhost.exporter.commands import command_output
from clusterwright.onhost.lib.safe_names import random_mark
from clusterwright.slurm import client
from clusterwright.slurm.jobs import Job, parse_queue

LIMIT_S = 5.0
RETRY_S = 60.0  # seconds after slurmctld did not respond, or did not know a job
_FIELDS = ("number", "account", "partition", "state", "name")


class JobRecords:
    """Slurm's records of this host's jobs, each queried once."""

    def __init__(self) -> None:
        self._jobs: Dict[str, Job] = {}
        self._retry_at = 0.0

    def update(self, numbers: List[str]) -> None:
        """Query slurmctld for the jobs that are new, and drop those that ended."""
        self._jobs = {number: self._jobs[number] for number in numbers if number in self._jobs}
        missing = [number for number in numbers if number not in self._jobs]
        if not missing or time.monotonic() < self._retry_at:
            return
        separator = random_mark()
        text = command_output(client.queue(_FIELDS, separator, missing), LIMIT_S) or ""
        self._jobs.update((job.number, job) for job in parse_queue(text, _FIELDS, separator))
        if not self._jobs.keys() >= set(missing):
            self._retry_at = time.monotonic() + RETRY_S

    def find(self, number: str) -> Job:
        """Return the record of a job; one without values while it is not known."""
        return self._jobs.get(number, Job())
