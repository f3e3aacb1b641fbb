"""Runs Slurm's client programs with time limits (standard library, Python 3.8; sent to the controller)."""

from __future__ import annotations

import os
from typing import Dict, List, NamedTuple, Tuple

from clusterwright.onhost.lib import processes
from clusterwright.slurm.jobs import FORMAT_FIELDS, Job, make_jobs

# Fields of a job. A job's name may contain any character, so a random separator ends every field.
FIELDS = (
    "id", "number", "user", "account", "partition", "state", "reason", "nodes", "cpus", "priority", "submit", "start",
    "end", "hosts", "tres", "gres", "name",
)  # fmt: skip
_FILTERS = (
    "SQUEUE_",
    "SINFO_",
    "SSHARE_",
    "SCONTROL_",
)  # variables of the administrator's shell that change their output


class Output(NamedTuple):
    """A program's output; `reason` is the error, "" after a success."""

    text: str
    reason: str


def commands(separator: str) -> Dict[str, List[str]]:
    """Return the Slurm command lines by query, with `separator` between fields: JSON output differs by release."""
    columns = ",".join(f"{FORMAT_FIELDS[field]}:{separator}" for field in FIELDS)
    return {
        "jobs": ["squeue", "--noheader", "--all", "--Format=" + columns],
        "nodes": ["scontrol", "show", "nodes", "-o"],
        "shares": ["sshare", "-a", "-P"],
    }


def run_program(argv: List[str], limit_s: float) -> Output:
    """Run a program and return its output, or its error if it fails; past the limit it is killed with its children."""
    result = processes.run(argv, limit_s, env=environment())
    if result.code == processes.TIMED_OUT and result.stopped:
        return Output("", f"{argv[0]} did not respond within {limit_s:g} s")
    return Output(result.out, "") if result.ok else Output("", f"{argv[0]}: {result.reason}")


def environment() -> Dict[str, str]:
    """Return the environment for Slurm's programs: output in plain C locale, times as epoch seconds."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(_FILTERS)}
    return dict(variables, SLURM_TIME_FORMAT="%s", LC_ALL="C")


def rows(text: str, separator: str, count: int = len(FIELDS)) -> List[Tuple[str, ...]]:
    """Return squeue's output as rows of `count` fields; an incomplete last row is dropped.

    Fields are counted, because a job's name may start with a newline, which also ends a row.
    """
    fields = text.split(separator)[:-1]
    groups = [fields[start : start + count] for start in range(0, len(fields), count)]
    return [(row[0].lstrip("\n"), *row[1:]) for row in groups if len(row) == count]


def jobs(text: str, separator: str) -> List[Job]:
    """Return the jobs of the output of `commands(separator)["jobs"]`."""
    return make_jobs(rows(text, separator), FIELDS)
