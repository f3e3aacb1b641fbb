"""What Slurm reports about a job: its state, time, hosts and output files, and log sources of its records; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from clusterwright.config.names import expand_valid
from clusterwright.diagnose.reading import LogSource, of_text
from clusterwright.diagnose.reading.line import moment
from clusterwright.diagnose.reading.read import OverBudgetError, TimeBudget
from clusterwright.slurm.job_records import parse_jobs
from clusterwright.slurm.nodes import parse_node
from clusterwright.slurm.records import Record, number, split_lines, stamp

_OUTPUT = re.compile(r"(?:^|\s)(?:-o|-e|--output|--error)[= ]?(\S+)")
_JOB_ID = re.compile(r"JobId=(\d+(?:[_+]\d+)?)\b")
_NAME = re.compile(r"[\w-]+(?:\.[\w-]+)*")
MARGIN_S = 15  # consequences of a job's end are logged within seconds; later lines belong to other jobs
_LEAST_FIELDS = 3  # begin, end, hosts


def user_of(parts: Mapping[str, str]) -> str:
    """Return the uid of the job's user by Slurm's accounting, which no job name can forge; "" without accounting."""
    return parts.get("line", "").partition("|")[0].strip()


def outputs(parts: Mapping[str, str], job: str) -> tuple[str, ...]:
    """Return the paths of the job's output files, from its record or else its submit line; empty if neither has any.

    `job` is the id that replaces `%j` and `%A`.
    """
    record = _record(parts)
    paths = [record["StdOut"], record["StdErr"]]
    _uid, _, named = parts.get("line", "").partition("\n")[0].partition("|")
    folder, _, line = named.partition("|")
    if not any(paths) and folder:
        patterns = _OUTPUT.findall(line) or ["slurm-%j.out"]
        paths = [pattern if pattern.startswith("/") else f"{folder}/{pattern}" for pattern in patterns]
    return tuple(
        dict.fromkeys(
            path.replace("%j", job).replace("%A", job) for path in paths if path and path != "/dev/null"
        )
    )


def state_of(parts: Mapping[str, str]) -> str:
    """Return the job's state, from accounting, else from slurmctld; empty if neither has it."""
    rows = [row for row in _rows(parts) if "." not in row.get("JobID", ".")]
    last = rows[-1].get("State", "") if rows else _record(parts)["JobState"]
    return last.partition(" ")[0]


def of_slurm(
    parts: Mapping[str, str], ids: Sequence[str], when: Window, budget: TimeBudget
) -> Iterator[LogSource]:
    """Yield sources of accounting records, node reasons and slurmctld's log lines from the job's time."""
    records = [" ".join(f"{key}={value}" for key, value in row.items() if value) for row in _rows(parts)]
    yield of_text("sacct", "\n".join(records), kind="sacct")
    yield of_text("scontrol show job", parts.get("job", ""), kind="scontrol")
    yield of_text("srun --mpi=list", parts.get("mpi", ""), kind="scontrol")
    if steps := parts.get("memory", "").strip():
        yield of_text("sstat", f"{_limit(parts)}\n{steps}", kind="output")
    yield of_text("slurmctld", "\n".join(_log(parts, ids, when, budget)), kind="slurm")
    for line in split_lines(parts.get("nodes", "")):
        node = parse_node(line).record
        if node["NodeName"] in when.hosts and when.contains_reason(node["Reason"]):
            text = node.quoted("NodeName", "State", "Reason")
            yield of_text("scontrol show node", text, kind="scontrol", host=node["NodeName"])


def _limit(parts: Mapping[str, str]) -> str:
    """Return the memory limit of the job as its record has it, for the output of sstat."""
    record = _record(parts)
    fields = ((name, record[name]) for name in ("MinMemoryNode", "AllocTRES", "TRES"))
    return " ".join(f"{name}={value}" for name, value in fields if value)


def _rows(parts: Mapping[str, str]) -> list[dict[str, str]]:
    """Return what sacct printed for the job and its steps: one dict per line, by the names of the heading.

    Empty if sacct has no output.
    """
    names, *lines = split_lines(parts.get("sacct", "")) or [""]
    return [dict(zip(names.split("|"), line.split("|"), strict=False)) for line in lines]


def _record(parts: Mapping[str, str]) -> Record:
    """Return slurmctld's record of the job, of an array the first; without fields if Slurm no longer has it."""
    return next(iter(parse_jobs(parts.get("job", ""))), Record({}))


def _log(parts: Mapping[str, str], ids: Sequence[str], when: Window, budget: TimeBudget) -> list[str]:
    """Return slurmctld's lines about the jobs or their hosts, in time linear in the text: a user has many job ids."""
    jobs, hosts = frozenset(ids), frozenset(when.hosts)
    lines = []
    budget.begin_source()
    with suppress(OverBudgetError):
        for line in dict.fromkeys(split_lines(parts.get("slurmctld", ""))):  # the journal may repeat the file
            budget.add(len(line))
            budget.check()
            if not (jobs.isdisjoint(_job_names(line)) and hosts.isdisjoint(_host_names(line))):
                lines += [line] if when.contains_line(line) else []
    return lines


def _job_names(line: str) -> Iterator[str]:
    """Yield the ids of the jobs in a line; a part of a heterogeneous job also as the job."""
    for job_id in _JOB_ID.findall(line):
        yield from (job_id, job_id.partition("+")[0])


def _host_names(line: str) -> Iterator[str]:
    """Yield all words of a line that can be a host's name, with and without domain."""
    for name in _NAME.findall(line):
        yield from (name, name.partition(".")[0])


@dataclass(frozen=True, slots=True)
class Window:
    """The time of a job in epoch seconds, and its hosts; `zone_s` is the control host's offset from UTC."""

    begin: int
    end: int
    zone_s: int
    hosts: tuple[str, ...]

    def contains(self, seconds: float) -> bool:
        """Return whether a time in epoch seconds is in the time of the job, read as UTC or as local time."""
        return any(self.begin - 1 <= epoch_s <= self.end for epoch_s in (seconds, seconds - self.zone_s))

    def contains_line(self, line: str) -> bool:
        """Return whether a log line is from the time of the job; True for a line without a timestamp."""
        logged_at = moment(line, 0)
        return logged_at is None or self.contains(logged_at.seconds)

    def contains_reason(self, reason: str) -> bool:
        """Return whether a node's reason, which ends in `[user@time]`, was set in the time of the job."""
        when = stamp(reason.rpartition("@")[2].rstrip("]"))
        return when is not None and self.contains(when)


def window(parts: Mapping[str, str]) -> Window:
    """Return the time of all attempts of a job, from accounting and slurmctld; until now if it has not ended.

    Both print columns without any text of a user: a comment can add fields to slurmctld's record of the job.
    """
    now, local = [*parts.get("now", "0 ").split(), "", ""][:2]
    now_s = number(now) or 0
    lines = [line for name in ("window", "times") for line in split_lines(parts.get(name, ""))]
    rows = [row for row in (line.split("|") for line in lines) if len(row) >= _LEAST_FIELDS]
    begins = [begin for begin in (number(row[0]) for row in rows) if begin is not None]
    ends = [end for end in (number(row[1]) for row in rows) if end is not None and end <= now_s]
    lists = [row[2] for row in rows if row[2] and "assigned" not in row[2]]
    hosts = tuple(dict.fromkeys(host for node_list in lists for host in expand_valid(node_list)))
    zone_s = (stamp(local) or now_s) - now_s
    return Window(min(begins, default=now_s), (max(ends) if ends else now_s) + MARGIN_S, zone_s, hosts)
