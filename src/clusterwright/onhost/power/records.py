"""The record of each host between polls, on disk, so that a restarted daemon continues."""

import json
from typing import Any, Dict, List, Optional

from clusterwright.onhost.lib.files import write_atomic
from clusterwright.onhost.lib.safe_reader import read_object


class PowerRecord:
    """The record of one host.

    `requested` is the last request to the provider: "", "on", "off", or "failed" while a failed boot is undone.
    `requested_at` is the time of its first try, `next` that of the next, `calls` the number of tries; `sure` is True
    once the provider reports the host off. `failed_boots` counts failed boots in a row; `message` is the provider's
    last message, `observed` the power state that it reported during a boot.
    """

    def __init__(self, stored_values: Optional[Dict[str, Any]] = None) -> None:
        self.requested, self.message, self.observed = "", "", ""
        self.requested_at, self.next = 0.0, 0.0
        self.calls, self.failed_boots = 0, 0
        self.sure = self.hopeless = self.drained = False
        for name, value in (stored_values or {}).items():
            if name in vars(self) and type(value) is type(getattr(self, name)):
                setattr(self, name, value)

    def request_state(self, state: str, now: float) -> None:
        """Record a new requested state (on, off, failed or "") at this time, and reset its retries."""
        self.requested, self.requested_at, self.next, self.calls, self.sure = state, now, now, 0, False


class Records:
    """The records of all hosts, read from a file at the start and written back by `write`."""

    def __init__(self, path: str, hosts: List[str]) -> None:
        self.path = path
        stored_records = read_object(path)  # empty at the first start, or after a full disk
        records = {host: stored_records.get(host) for host in hosts}
        self.by_host = {
            host: PowerRecord(record if isinstance(record, dict) else None)
            for host, record in records.items()
        }
        self.written = ""

    def write(self) -> None:
        """Write the hosts' power records to their file atomically, if they have changed since the last write."""
        text = json.dumps({host: vars(record) for host, record in self.by_host.items()})
        if text == self.written:
            return
        write_atomic(self.path, text)
        self.written = text
