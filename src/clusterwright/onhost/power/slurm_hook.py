"""Slurm's ResumeProgram and SuspendProgram: notifies the daemon and exits at once, so slurmctld never waits.

A lost message does no harm: the daemon polls Slurm's state and notices the change within seconds.
"""

import json
import os
import socket
import sys
import syslog

from clusterwright.onhost.power.settings import KICK


def jobs() -> str:
    """Return ` for jobs ID, ID`, the jobs that wait for these hosts by SLURM_RESUME_FILE; empty without that file."""
    try:
        with open(os.environ["SLURM_RESUME_FILE"]) as file:
            ids = [str(job["job_id"]) for job in json.load(file).get("jobs", [])]
    except (KeyError, OSError, ValueError, TypeError):
        return ""
    return " for jobs " + ", ".join(ids) if ids else ""


def main() -> int:
    """Run with the arguments `VERB HOSTLIST`."""
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
