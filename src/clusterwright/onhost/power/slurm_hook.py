"""Slurm's ResumeProgram and SuspendProgram: notifies the daemon and exits at once, so slurmctld never waits.

A lost message does no harm: the daemon polls Slurm's state and notices the change within seconds.
"""

import os
import socket
import sys
import syslog

from clusterwright.onhost.lib.safe_reader import read_object
from clusterwright.onhost.power.settings import KICK


def jobs() -> str:
    """Return ` for jobs ID, ID`, the jobs that wait for these hosts by SLURM_RESUME_FILE; empty without that file."""
    jobs_waiting = read_object(os.environ.get("SLURM_RESUME_FILE", "")).get("jobs")
    rows = jobs_waiting if isinstance(jobs_waiting, list) else []
    ids = [str(row["job_id"]) for row in rows if isinstance(row, dict) and type(row.get("job_id")) is int]
    return " for jobs " + ", ".join(ids) if ids else ""


def main() -> int:
    """Notify the power daemon that Slurm requests VERB for HOSTLIST (the arguments), with the waiting jobs.

    Return 0 in any case; if the daemon does not listen, log that to syslog.
    """
    message = f"Slurm: {sys.argv[1]} {sys.argv[2]}{jobs()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.setblocking(False)
        try:
            line.sendto(message.encode(), KICK)
        except OSError as error:
            syslog.openlog("clusterwright-power")
            syslog.syslog(f"{message}; the power daemon does not listen: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
