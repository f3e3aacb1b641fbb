"""A supervisor that goes on inside a job whose batch step is gone: `python -m ...takeover RUN`, orders on stdin.

It is the child of the agent that claimed its number (succession.py). The other agents find it by the pulse.
"""

from __future__ import annotations

import json
import signal
import sys

from clusterwright.onhost.supervisor import beside
from clusterwright.onhost.supervisor.folder import Folder
from clusterwright.onhost.supervisor.job import read_record
from clusterwright.onhost.supervisor.room import Inherited
from clusterwright.onhost.supervisor.standing import Before
from clusterwright.onhost.supervisor.supervisor import Supervisor


def main() -> int:
    """Keep the run alive from here on; the exit code is read by nobody."""
    orders = json.loads(sys.stdin.readline())
    folder = Folder(sys.argv[1])
    record = read_record(folder.path)
    before = Before(orders["number"], orders["lost"], orders["silence_s"], orders["end_time"])
    supervisor = Supervisor(record, folder, Inherited(record, folder, tuple(orders["hosts"])), before)
    for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: supervisor.wishes.on_signal(received))
    with beside.trackers(record.job.trackers, folder):
        return supervisor.run()


if __name__ == "__main__":
    sys.exit(main())
