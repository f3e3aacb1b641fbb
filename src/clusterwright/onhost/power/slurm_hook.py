"""What Slurm calls: passes on what it was asked, and ends at once; slurmctld never waits for a provider.

Nothing is lost where nobody listens: the keeper reads Slurm's own state, and would see by itself within seconds.
"""

import json
import os
import socket
import sys
import syslog

from clusterwright.onhost.power.settings import KICK


def jobs() -> str:
    """The jobs that wait for these hosts, where Slurm says so (SLURM_RESUME_FILE, from 22.05 on)."""
    try:
        with open(os.environ["SLURM_RESUME_FILE"]) as file:
            ids = [str(job["job_id"]) for job in json.load(file).get("jobs", [])]
    except (KeyError, OSError, ValueError, TypeError):
        return ""
    return " for jobs " + ", ".join(ids) if ids else ""


def main() -> int:
    """`asked VERB HOSTLIST`."""
    message = f"Slurm: {sys.argv[1]} {sys.argv[2]}{jobs()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.setblocking(False)
        try:
            line.sendto(message.encode(), KICK)
        except OSError as error:
            syslog.openlog("clusterwright-power")
            syslog.syslog(f"{message}; the keeper does not listen: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
