"""What Slurm's programs say, each within its own time (standard library, Python 3.8; sent to the control host)."""

from __future__ import annotations

import os
from typing import Dict, List, NamedTuple, Tuple

from clusterwright.onhost.lib import processes
from clusterwright.slurm.jobs import FORMAT_FIELDS, Job, make_jobs

# Of a job. Any sign may stand in its name; the mark, which nobody knows beforehand, ends every field.
FIELDS = (
    "id", "number", "user", "account", "partition", "state", "reason", "nodes", "cpus", "priority", "submit", "start",
    "end", "hosts", "tres", "gres", "name",
)  # fmt: skip
_FILTERS = (
    "SQUEUE_",
    "SINFO_",
    "SSHARE_",
    "SCONTROL_",
)  # what an administrator's shell may ask of them for itself


class Output(NamedTuple):
    """What a program printed; `why` is empty where it went well."""

    text: str
    why: str


def commands(separator: str) -> Dict[str, List[str]]:
    """Command lines by what they are asked for. Only their text is the same in all releases; their JSON is not."""
    columns = ",".join(f"{FORMAT_FIELDS[field]}:{separator}" for field in FIELDS)
    return {
        "jobs": ["squeue", "--noheader", "--all", "--Format=" + columns],
        "nodes": ["scontrol", "show", "nodes", "-o"],
        "shares": ["sshare", "-a", "-P"],
    }


def run_program(argv: List[str], limit_s: float) -> Output:
    """Its answer; one that overruns is killed with its children, and one that is not there says so."""
    result = processes.run(argv, limit_s, env=environment())
    if result.code == processes.TIMED_OUT and result.stopped:
        return Output("", f"{argv[0]} did not answer within {limit_s:g} s")
    return Output(result.out, "") if result.ok else Output("", f"{argv[0]}: {result.reason}")


def environment() -> Dict[str, str]:
    """Ours without what would filter or shape the answers; times are seconds, so that clocks' zones do not matter."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(_FILTERS)}
    return dict(variables, SLURM_TIME_FORMAT="%s", LC_ALL="C")


def rows(text: str, separator: str, count: int = len(FIELDS)) -> List[Tuple[str, ...]]:
    """Jobs of squeue's answer, of so many fields each; the last one is passed over where it has not all of them.

    Fields are counted, as a job's name may begin with what ends a row. So each row but the first brings that along.
    """
    fields = text.split(separator)[:-1]
    groups = [fields[start : start + count] for start in range(0, len(fields), count)]
    return [(row[0].lstrip("\n"), *row[1:]) for row in groups if len(row) == count]


def jobs(text: str, separator: str) -> List[Job]:
    """The jobs of commands(mark)["jobs"]."""
    return make_jobs(rows(text, separator), FIELDS)
