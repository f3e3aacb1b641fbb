"""Jobs, out of what squeue prints of them, of releases 21.08 to 26.05."""

import re
from typing import Any, Dict, Iterable, List, NamedTuple, Sequence, Tuple

from clusterwright.slurm.records import Record, count_gpus
from clusterwright.slurm.states import is_allocated, is_finished, is_pending, job_state

# The sign of --format and the word of --Format that print each field of a Job.
_SIGNS = {
    "id": "%i", "user": "%u", "account": "%a", "partition": "%P", "qos": "%q", "state": "%T", "reason": "%r",
    "elapsed": "%M", "limit": "%l", "nodes": "%D", "cpus": "%C", "priority": "%Q", "start": "%S", "end": "%e",
    "hosts": "%N", "excluded": "%x", "reservation": "%v", "gres": "%b", "name": "%j",
}  # fmt: skip
FORMAT_FIELDS = {
    "id": "JobArrayID", "number": "JobID", "user": "UserName", "account": "Account", "partition": "Partition",
    "qos": "QOS", "state": "State", "reason": "Reason", "elapsed": "TimeUsed", "limit": "TimeLimit",
    "nodes": "NumNodes", "cpus": "NumCPUs", "priority": "PriorityLong", "submit": "SubmitTime",
    "eligible": "EligibleTime", "start": "StartTime", "end": "EndTime", "hosts": "NodeList", "tres": "tres-alloc",
    "gres": "tres-per-node", "name": "Name",
}  # fmt: skip
_INTEGER = re.compile(r"\s*(\d+)")


class Job(NamedTuple):
    """One job of squeue, an array of waiting tasks as one; a field that was not requested is empty."""

    id: str = ""  # of a task of an array `8_3`
    number: str = ""  # Slurm's own, also of a task of an array
    user: str = ""
    account: str = ""
    partition: str = ""
    qos: str = ""
    state: str = ""
    reason: str = ""
    elapsed: str = ""
    limit: str = ""
    nodes: int = 0
    cpus: int = 0
    priority: int = 0
    submit: str = ""
    eligible: str = ""
    start: str = ""
    end: str = ""
    hosts: str = ""  # a hostlist; of a waiting job the hosts that the scheduler plans for it
    excluded: str = ""
    reservation: str = ""
    tres: str = ""
    gres: str = ""  # of one node
    name: str = ""

    @property
    def is_pending(self) -> bool:
        """True while it waits for hosts."""
        return is_pending(self.state)

    @property
    def is_allocated(self) -> bool:
        """True while hosts are allocated to it."""
        return is_allocated(self.state)

    @property
    def is_finished(self) -> bool:
        """True when it has ended."""
        return is_finished(self.state)

    @property
    def gpus(self) -> int:
        """GPUs on all its hosts together."""
        return count_gpus("", self.tres) or count_gpus(self.gres) * max(1, self.nodes)


def queue_format(fields: Iterable[str]) -> str:
    """What squeue's --format takes, for parse_queue."""
    return "|".join(_SIGNS[field] for field in fields)


def parse_queue(text: str, fields: Sequence[str]) -> Tuple[Job, ...]:
    """Jobs of squeue in these columns, of which the last may hold anything; a line of another form is no job."""
    rows = (line.strip().split("|", len(fields) - 1) for line in text.splitlines())
    return tuple(make_jobs(rows, fields))


def make_jobs(rows: Iterable[Sequence[str]], fields: Sequence[str]) -> List[Job]:
    """Jobs of rows in these columns; a row of another form is no job."""
    cells = [dict(zip(fields, row)) for row in rows if len(row) == len(fields)]
    return [
        _job(row)
        for row in cells
        if re.fullmatch("[A-Z_]+", row["state"]) and row.get("nodes", "0").isdigit()
    ]


def _job(row: Dict[str, Any]) -> Job:
    numbers = {name: _integer(row.get(name, "")) for name in ("nodes", "cpus", "priority")}
    reason = "" if row.get("reason") == "None" else row.get("reason", "")
    return Job(**dict(row, reason=reason, **numbers))


def _integer(text: str) -> int:
    match = _INTEGER.match(text)
    return int(match.group(1)) if match else 0


def job_state_of(record: Record) -> str:
    """The state of a job of `scontrol show job`, in one word."""
    return job_state(record["JobState"])
