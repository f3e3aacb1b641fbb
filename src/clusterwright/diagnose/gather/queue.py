"""What Slurm knows of a job that waits, with one ssh."""

from __future__ import annotations

import re
import shlex

from clusterwright.diagnose.gather.sections import sections
from clusterwright.diagnose.pending.facts import FIELDS, Facts
from clusterwright.edge.host import Host
from clusterwright.edge.slurm import checked
from clusterwright.edge.ssh import Remote
from clusterwright.slurm.jobs import queue_format

# Each part may fail alone: without accounting there are no associations, and no reservation is an exit code.
# `--start` makes the backfill scheduler think, so it is asked for this job only.
_ASK = """
part() {{ echo "@@ $1"; shift; timeout 20 "$@" 2>&1; }}
part now date +%Y-%m-%dT%H:%M:%S
part job scontrol show job -o {job}
part partitions scontrol show partition -o
part nodes scontrol show node -o
part reservations scontrol show reservation -o
part licenses scontrol show licenses -o
part limits scontrol show assoc_mgr flags=assoc,qos -o
part queue squeue -h -a -r -o {queue}
part start squeue -h --start -j {job} -o '%i|%S|%Y'
user=$(scontrol show job -o {job} 2>/dev/null | sed -n '1s/.*UserId=\\([^(]*\\)(.*/\\1/p')
part allowed sacctmgr -nP show assoc "user=$user" format=account,user,partition,qos,defaultqos
"""
_WORD = re.compile(r"[\w.\[\]-]+")


def ask(remote: Remote, host: str, job: str) -> Facts:
    """Everything that tells why it waits; no field of the job where Slurm does not know it.

    Raises:
        WrightError: the host was not reached.
    """
    word = job if _WORD.fullmatch(job) else "0"
    command = _ASK.format(job=shlex.quote(word), queue=shlex.quote(queue_format(FIELDS)))
    done = Host(remote, host).run(f"sh -c {shlex.quote(command)}")
    return Facts(sections(checked(done, host, "scontrol").out))
