"""What is known of one host: Slurm's record, and what its kernel, slurmd and health program said of late."""

from __future__ import annotations

import shlex

from clusterwright.edge.slurm import checked
from clusterwright.edge.ssh import Remote
from clusterwright.why.gather.ended import on_hosts, sources_of
from clusterwright.why.pending.records import Record, stamp
from clusterwright.why.reading import Source

DAY_S = 86400
BEFORE_S = 900  # what takes a host out of service is said so long before Slurm writes that it is out
# What a credential says now: slurmd tries for a minute before it logs that munged is gone, and Slurm does not wait.
_NOW = "part 'munge now' sh -c 'command -v munge >/dev/null && munge -n </dev/null 2>&1 >/dev/null'\n"


def record(remote: Remote, control: str, node: str) -> tuple[Record, int]:
    """Slurm's record of it, empty where Slurm does not know it; and for how many seconds its reason has stood.

    Raises:
        WrightError: the control host or slurmctld does not answer.
    """
    done = remote.run(control, f"scontrol show node -o {shlex.quote(node)} && date +%Y-%m-%dT%H:%M:%S")
    if "not found" in done.out + done.err:
        return Record({}), DAY_S
    line, _, now = checked(done, control, "scontrol").out.partition("\n")
    known = Record.parse(line)
    return known, _stood(known["Reason"], now)


def _stood(reason: str, now: str) -> int:
    """Seconds by the control host's clock; a day where no time is written."""
    since, at = stamp(reason.rpartition("@")[2]), stamp(now)
    return DAY_S if since is None or at is None else max(0, at - since)


def lately(remote: Remote, node: str, now: int, stood_s: int = DAY_S) -> tuple[tuple[Source, ...], bool]:
    """What the host said since shortly before its reason was written, a day at most; and whether it answered at all."""
    begin = now - min(DAY_S, stood_s + BEFORE_S)
    texts, silent = on_hosts(remote, (node,), begin, now, _NOW)
    return tuple(sources_of(texts)), not silent
