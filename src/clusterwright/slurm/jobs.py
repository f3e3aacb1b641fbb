"""Jobs, parsed from squeue's output, releases 21.08 to 26.05."""

import re
from typing import Any, Dict, Iterable, List, NamedTuple, Sequence, Tuple

from clusterwright.slurm.records import Record, count_gpus, split_lines
from clusterwright.slurm.states import is_allocated, is_finished, is_pending, job_state

# Field codes of squeue's --format and field names of its --Format, by field of Job.
_SIGNS = {
    "id": "%i", "number": "%A", "user": "%u", "account": "%a", "partition": "%P", "qos": "%q", "state": "%T",
    "reason": "%r", "elapsed": "%M", "limit": "%l", "nodes": "%D", "cpus": "%C", "priority": "%Q", "start": "%S",
    "end": "%e", "hosts": "%N", "excluded": "%x", "reservation": "%v", "gres": "%b", "name": "%j",
}  # fmt: skip
FORMAT_FIELDS = {
    "id": "JobArrayID", "number": "JobID", "user": "UserName", "account": "Account", "partition": "Partition",
    "qos": "QOS", "state": "State", "reason": "Reason", "elapsed": "TimeUsed", "limit": "TimeLimit",
    "nodes": "NumNodes", "cpus": "NumCPUs", "priority": "PriorityLong", "submit": "SubmitTime",
    "eligible": "EligibleTime", "start": "StartTime", "end": "EndTime", "hosts": "NodeList", "tres": "tres-alloc",
    "gres": "tres-per-node", "name": "Name",
}  # fmt: skip
_ID = re.compile(r"[0-9]+(?:[_+][0-9\[\],:%+.-]*)?")  # 12, 12_3, 12_[0-99%4], 12+1
_INTEGER = re.compile(r"\s*([0-9]{1,19})(?![0-9])")


class Job(NamedTuple):
    """One job in squeue's output, a pending array as one job; a field that was not requested is empty."""

    id: str = ""  # `8_3` for an array task
    number: str = ""  # Slurm's numeric job id; each task of an array has its own
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
    hosts: str = ""  # a hostlist; for a pending job the nodes that the scheduler plans
    excluded: str = ""
    reservation: str = ""
    tres: str = ""
    gres: str = ""  # per node
    name: str = ""

    @property
    def is_pending(self) -> bool:
        """True while the job is pending."""
        return is_pending(self.state)

    @property
    def is_allocated(self) -> bool:
        """True while hosts are allocated to the job."""
        return is_allocated(self.state)

    @property
    def is_finished(self) -> bool:
        """True if the job has ended."""
        return is_finished(self.state)

    @property
    def gpus(self) -> int:
        """Number of GPUs of the job on all its hosts together, by its TRES, else by its GRES per host; 0 without."""
        return count_gpus("", self.tres) or count_gpus(self.gres) * max(1, self.nodes)


def queue_format(fields: Iterable[str], mark: str = "") -> str:
    """Return squeue's --format argument for these fields of Job, in the form that `parse_queue` parses.

    `mark` is put before each row.
    """
    return mark + "|".join(_SIGNS[field] for field in fields)


def parse_queue(text: str, fields: Sequence[str], mark: str = "") -> Tuple[Job, ...]:
    """Parse squeue's output whose columns are these fields of Job; the last may contain `|`; skip malformed rows.

    Job names may contain line feeds. So if `name` is a column, `mark` must be a random text that begins each row.
    """
    lines = ("\n" + text).split("\n" + mark)[1:] if mark else split_lines(text)
    rows = (line.strip().split("|", len(fields) - 1) for line in lines)
    return tuple(make_jobs(rows, fields))


def make_jobs(rows: Iterable[Sequence[str]], fields: Sequence[str]) -> List[Job]:
    """Convert rows of cells, one per field of Job in `fields`, to jobs; malformed rows are skipped."""
    cells = [dict(zip(fields, row)) for row in rows if len(row) == len(fields)]
    return [
        _job(row)
        for row in cells
        if re.fullmatch("[A-Z_]+", row["state"])
        and _ID.fullmatch(row.get("id") or row.get("number") or "0")
        and re.fullmatch("[0-9]*", row.get("nodes", ""))
    ]


def _job(row: Dict[str, Any]) -> Job:
    numbers = {name: _integer(row.get(name, "")) for name in ("nodes", "cpus", "priority")}
    reason = "" if row.get("reason") == "None" else row.get("reason", "")
    return Job(**dict(row, reason=reason, **numbers))


def _integer(text: str) -> int:
    match = _INTEGER.match(text)
    return int(match.group(1)) if match else 0


def job_state_of(record: Record) -> str:
    """Return the job's state (JobState) in a record of `scontrol show job`, without flags."""
    return job_state(record["JobState"])
