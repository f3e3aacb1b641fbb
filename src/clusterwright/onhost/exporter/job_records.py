"""Accounts, partitions and names of this host's jobs, from slurmctld, as users can change the environment of a job."""

from __future__ import annotations

import time
from typing import Dict, List

from clusterwright.onhost.exporter.commands import command_output
from clusterwright.onhost.lib.safe_names import random_mark
from clusterwright.slurm import client
from clusterwright.slurm.jobs import Job, parse_queue

LIMIT_S = 5.0
RETRY_S = 60.0  # after slurmctld did not respond, or did not know a job
BURST = 5  # queries in a row: all hosts query the same slurmctld
REFILL_S = 60.0  # until one more query
_FIELDS = ("number", "account", "partition", "state", "name")


class JobRecords:
    """The records of jobs, each queried once, several in one query; new jobs by the second make no more queries."""

    def __init__(self) -> None:
        self._jobs: Dict[str, Job] = {}
        self._retry_at = 0.0
        self._credit, self._credit_at = float(BURST), time.monotonic()

    def update(self, numbers: List[str]) -> None:
        """Query slurmctld for those of these jobs that have no record yet, and drop the records of all others.

        No query while the credit is used up, or soon after one that missed a job.
        """
        self._jobs = {number: self._jobs[number] for number in numbers if number in self._jobs}
        missing = [number for number in numbers if number not in self._jobs]
        if not missing or time.monotonic() < self._retry_at or not self._may_query():
            return
        separator = random_mark()
        text = command_output(client.queue(_FIELDS, separator, missing), LIMIT_S) or ""
        self._jobs.update((job.number, job) for job in parse_queue(text, _FIELDS, separator))
        if not self._jobs.keys() >= set(missing):
            self._retry_at = time.monotonic() + RETRY_S

    def _may_query(self) -> bool:
        """Take one query from the credit, which grows with time; return False if less than one remains."""
        now = time.monotonic()
        self._credit = min(float(BURST), self._credit + (now - self._credit_at) / REFILL_S)
        self._credit_at = now
        if self._credit < 1:
            return False
        self._credit -= 1
        return True

    def find(self, number: str) -> Job:
        """Return the record of a job; one with empty values while it is not known."""
        return self._jobs.get(number, Job())
