"""What is remembered of each host between two looks, on disk, so that a new start of ours goes on where it was."""

import json
from typing import Any, Dict, List, Optional

from clusterwright.onhost.lib.files import write_atomic


class Record:
    """One host.

    `asked` is what the provider was asked for last: "", "on", "off", or "failed" while a boot that failed is
    undone. `since` is when first, `next` when it may be asked again, `calls` how often it was; `sure` that it
    is off by the provider's own word. `failed_boots` counts them in a row; `words` are the provider's last,
    `seen` what it said of the host's power during a boot.
    """

    def __init__(self, stored_values: Optional[Dict[str, Any]] = None) -> None:
        self.asked, self.words, self.seen = "", "", ""
        self.since, self.next = 0.0, 0.0
        self.calls, self.failed_boots = 0, 0
        self.sure = self.hopeless = self.drained = False
        vars(self).update(
            {name: value for name, value in (stored_values or {}).items() if name in vars(self)}
        )

    def request_state(self, state: str, now: float) -> None:
        """From now on it is asked for this."""
        self.asked, self.since, self.next, self.calls, self.sure = state, now, now, 0, False


class Records:
    """All hosts' records."""

    def __init__(self, path: str, hosts: List[str]) -> None:
        self.path = path
        try:
            with open(path) as file:
                stored_records = json.load(file)
        except (OSError, ValueError):
            stored_records = {}  # the first start, or a disk that was full: everything is asked for anew
        self.by_host = {host: Record(stored_records.get(host)) for host in hosts}
        self.written = ""

    def write(self) -> None:
        """Whole or not at all, and only where something differs."""
        text = json.dumps({host: vars(record) for host, record in self.by_host.items()})
        if text == self.written:
            return
        write_atomic(self.path, text)
        self.written = text
