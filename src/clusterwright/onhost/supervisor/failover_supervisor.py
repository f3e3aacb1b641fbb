"""A supervisor inside a job whose batch step is lost: `python -m ...failover_supervisor RUN`, orders on stdin.

It is the child of the agent that claimed its number (failover.py). The other agents find it by its heartbeat
file.
"""

from __future__ import annotations

import json
import signal
import sys

from clusterwright.onhost.supervisor import tracker_processes, upload_processes
from clusterwright.onhost.supervisor.folder import Folder
from clusterwright.onhost.supervisor.job import read_record
from clusterwright.onhost.supervisor.quorum import Predecessor
from clusterwright.onhost.supervisor.schedulers import Inherited
from clusterwright.onhost.supervisor.ssh_hosts import SshHosts
from clusterwright.onhost.supervisor.supervisor import Supervisor


def main() -> int:
    """Supervise the remainder of a job after its supervisor was lost; the orders are JSON on stdin.

    Return an exit code that nothing reads.
    """
    orders = json.loads(sys.stdin.readline())
    folder = Folder(sys.argv[1])
    record = read_record(folder.path)
    predecessor = Predecessor(
        orders["number"], orders["lost_host"], orders["heartbeat_age_s"], orders["end_time"]
    )
    hosts = tuple(orders["hosts"])
    scheduler = Inherited(record, folder, hosts) if record.in_slurm else SshHosts(record, folder)
    supervisor = Supervisor(record, folder, scheduler, predecessor)
    for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: supervisor.stop_requests.on_signal(received))
    with tracker_processes.trackers(record.job.trackers, folder), upload_processes.uploads(record, folder):
        return supervisor.run()


if __name__ == "__main__":
    sys.exit(main())
