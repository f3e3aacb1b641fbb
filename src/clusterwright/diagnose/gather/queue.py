"""Query Slurm about a pending job, in one SSH command."""

from __future__ import annotations

import re
import shlex

from clusterwright.diagnose.gather.sections import INDENT, sections
from clusterwright.diagnose.pending.facts import FIELDS, Facts
from clusterwright.edge.host import Host
from clusterwright.edge.slurm import checked
from clusterwright.edge.ssh import Remote
from clusterwright.slurm import client

# Each part may fail on its own: without accounting there are no associations, and without reservations `scontrol` exits
# with an error. `--start` costs time of the backfill scheduler, so it is queried for this job only.
_SCRIPT = """
part() {{ echo "@@ $1"; shift; timeout 20 "$@" 2>&1 | {indent}; }}
part now date +%Y-%m-%dT%H:%M:%S
part job {job}
part partitions {partitions}
part nodes {nodes}
part reservations {reservations}
part licenses {licenses}
part limits {limits}
part queue {queue}
part start {start}
user=$({user} 2>/dev/null | sed 1q)
part allowed {allowed}
"""
_JOB_ID = re.compile(r"[\w.\[\]-]+")


def gather_facts(remote: Remote, host: str, job: str) -> Facts:
    """Return all facts about a pending job from Slurm; its record is empty if Slurm does not know the job.

    Raises:
        WrightError: the host cannot be reached.
    """
    job_id = job if _JOB_ID.fullmatch(job) else "0"
    commands = {
        "job": client.show_job(job_id),
        "partitions": client.show("partition"),
        "nodes": client.show_nodes(),
        "reservations": client.show_reservations(),
        "licenses": client.show("licenses"),
        "user": client.queue(("user",), numbers=[job_id]),  # a name can add a UserId to the job's record
        "limits": client.show("assoc_mgr", "flags=assoc,qos"),
        "queue": client.queue_of_tasks(FIELDS),
        "start": client.expected_start(job_id),
    }
    lines = {name: client.line(argv) for name, argv in commands.items()}
    allowed = " ".join(client.associations('"user=$user"', "account,user,partition,qos,defaultqos"))
    command = _SCRIPT.format(indent=INDENT, allowed=allowed, **lines)
    result = Host(remote, host).run(f"sh -c {shlex.quote(command)}")
    return Facts(sections(checked(result, host, "scontrol").out))
