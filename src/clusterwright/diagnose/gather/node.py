"""Gather the Slurm record and the recent logs of one host."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from clusterwright.diagnose.gather import measure
from clusterwright.diagnose.gather.ended import on_hosts, slurmctld_log, sources_of
from clusterwright.diagnose.reading import LogSource
from clusterwright.edge.host import Host
from clusterwright.edge.slurm import checked
from clusterwright.edge.ssh import Remote
from clusterwright.slurm import client
from clusterwright.slurm.nodes import parse_node
from clusterwright.slurm.records import Record, stamp

DAY_S = 86400
BEFORE_S = 900  # a fault is logged up to this long before Slurm sets the node's state
# Shell that tests munge now: slurmd retries for a minute before it logs that munged is gone, and Slurm does not wait
# for that.
_NOW = "part 'munge now' sh -c 'command -v munge >/dev/null && munge -n </dev/null 2>&1 >/dev/null'\n"


# slurmctld logs a resume as a change of state by an administrator or a program; a node that only responds again is not
# logged so.
_SCRIPT = r"""
node={node}
{show} && date +%Y-%m-%dT%H:%M:%S || exit
back() {{ grep -E "update_node: node $node state set to (IDLE|MIXED|ALLOCATED|RESUME|UNDRAIN)" | tail -n 1; }}
log=$({config} 2>/dev/null | sed -n 's/^SlurmctldLogFile *= *//p')
{journal} 2>/dev/null | back
tail -n 20000 "$log" 2>/dev/null | back
"""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """Slurm's record of a host, empty if Slurm does not know the host.

    `reason_age_s`: seconds since its reason was set. `back_s`: seconds since it was resumed, if known.
    """

    record: Record
    reason_age_s: int = DAY_S
    back_s: int | None = None


@dataclass(frozen=True, slots=True)
class Lately:
    """Recent logs of a host, before and after its last resume; `answers`: whether the host was reachable."""

    after_resume: tuple[LogSource, ...]
    before_resume: tuple[LogSource, ...]
    answers: bool


def record(remote: Remote, control: str, node: str) -> NodeStatus:
    """Return the node's record from slurmctld, the age of its reason and its last resume; the record may be empty.

    Raises:
        WrightError: the control host or slurmctld does not answer.
    """
    show, config = (client.line(argv) for argv in (client.show_nodes([node]), client.show_config()))
    script = _SCRIPT.format(node=shlex.quote(node), show=show, config=config, journal=slurmctld_log())
    result = Host(remote, control).run(f"sh -c {shlex.quote(script)}")
    if "not found" in result.out + result.err:
        return NodeStatus(Record({}))
    line, now, *log_lines = [*checked(result, control, "scontrol").out.split("\n"), ""][:4]
    node_record = parse_node(line).record
    return NodeStatus(node_record, _reason_age_s(node_record["Reason"], now), _back(log_lines, now))


def _back(log_lines: list[str], now: str) -> int | None:
    now_s = stamp(now)
    times = [stamp(match[0]) for line in log_lines if (match := _TIME.search(line))]
    return min(
        (max(0, now_s - time) for time in times if time is not None and now_s is not None), default=None
    )


def _reason_age_s(reason: str, now: str) -> int:
    """Return the age of a reason by the control host's clock; a day if it has no time."""
    reason_s, now_s = stamp(reason.rpartition("@")[2]), stamp(now)
    return DAY_S if reason_s is None or now_s is None else max(0, now_s - reason_s)


def lately(remote: Remote, node: str, now: int, status: NodeStatus) -> Lately:
    """Return the host's logs since BEFORE_S before its reason was set (a day at most), split at its last resume.

    `now`: epoch seconds when `status` was queried; the logs are read to their ends.
    """
    begin = now - min(DAY_S, status.reason_age_s + BEFORE_S)
    back = begin if status.back_s is None else max(begin, now - status.back_s)
    texts, unreachable = on_hosts(remote, (node,), back, None, measure.HOST + _NOW)
    past = on_hosts(remote, (node,), begin, back)[0] if back > begin and not unreachable else {}
    return Lately(tuple(sources_of(texts)), tuple(sources_of(past)), not unreachable)
