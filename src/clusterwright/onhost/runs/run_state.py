"""Read what decides the state of a run, on a host that has its folder (standard library, Python 3.8).

Sent with run_jobs.py. Slurm is queried only if the folder does not determine the state.
"""

from __future__ import annotations

import os
import time
from typing import Any, Dict, Iterable, List, Optional, Sequence

from clusterwright.onhost.lib import processes
from clusterwright.onhost.lib.numbers import finite
from clusterwright.onhost.lib.run_outcome import (
    ALLOCATED,
    ENDED,
    PENDING,
    RUNNING,
    RunEvidence,
    RunState,
    SlurmJob,
    decide,
)
from clusterwright.onhost.lib.safe_reader import is_regular, modified, read_object, read_part
from clusterwright.onhost.runs.run_folders import SLURM_S, is_answer, owner_of
from clusterwright.onhost.supervisor.goodput import history
from clusterwright.slurm.records import split_lines
from clusterwright.slurm.states import is_allocated, is_finished, is_pending, job_state

TAIL = 8192  # bytes at the end of a file that contain the newest job_end
MOST_REASON = 300  # characters of a reason that a run's folder contains
MOST_JOBS = 1000  # jobs in one query of Slurm
_SQUEUE = ("squeue", "--noheader", "--all", "--states=all", "--format=%i|%U|%T|%e|%r")
_SACCT = (
    "sacct",
    "--noheader",
    "--parsable2",
    "--allocations",
    "--duplicates",
    "--format=JobID,UID,State,End,Reason",
)
_FIELDS = 5


def read_evidence(run: str) -> RunEvidence:
    """Return the evidence of a run's state in its folder, without Slurm's records."""
    alive_at, ended = modified(os.path.join(run, "pulse")), os.path.join(run, "ended.json")
    record = read_object(os.path.join(run, "job.json"))
    return RunEvidence(
        _outcome(read_object(ended)),
        modified(ended) is not None,
        # A run that was submitted again has the events of before.
        {} if alive_at is None else _outcome(_job_end(run)),
        None if alive_at is None else time.time() - alive_at,
        is_regular(os.path.join(run, "cancelled")),
        is_local=bool(record.get("local") or record.get("hosts")),
    )


def read_state(run: str, jobs: Sequence[str]) -> RunState:
    """Return the state of a run with these job ids.

    Slurm is queried only if the files do not show that the run has ended or runs, and never for a local run.
    """
    evidence = read_evidence(run)
    state = decide(evidence)
    if state.has_ended or state.state == RUNNING or evidence.is_local:
        return state
    records = query_jobs(jobs)
    return decide(evidence._replace(jobs=None if records is None else of_owner(records, jobs, owner_of(run))))


def query_jobs(ids: Iterable[str]) -> Optional[Dict[str, List[Dict[str, Any]]]]:
    """Return Slurm's records of jobs by id, from slurmctld and, for those it has forgotten, from accounting.

    None if neither responds.
    """
    requested = list(dict.fromkeys(ids))[-MOST_JOBS:]
    records: Dict[str, List[Dict[str, Any]]] = {}
    if not requested:
        return records
    answered = False
    for argv in (_SQUEUE, _SACCT):
        missing = [job for job in requested if job not in records]
        environment = dict(os.environ, SLURM_TIME_FORMAT="%s")
        command = [*argv, "--jobs=" + ",".join(missing)]
        result = processes.run(command, SLURM_S, env=environment) if missing else None
        if result is None:
            continue
        answered = answered or is_answer(result)
        for line in split_lines(result.out):
            row = line.split("|", _FIELDS - 1)
            if len(row) == _FIELDS:
                job, user, state, end, reason = (cell.strip() for cell in row)
                record = {"user": user, "job": slurm_job(job, state, reason, finite(end))}
                records.setdefault(job, []).append(record)
    return records if answered else None


def slurm_job(job: str, state: str, reason: str = "", ended_at: Optional[float] = None) -> SlurmJob:
    """Return a Slurm job with the base state and phase of its state as squeue or sacct prints it: `CANCELLED by 0`."""
    base_state = job_state(state)
    phases = ((PENDING, is_pending), (ALLOCATED, is_allocated), (ENDED, is_finished))
    phase = next((phase for phase, is_in_phase in phases if is_in_phase(base_state)), "")
    return SlurmJob(job, base_state, phase, reason, ended_at)


def of_owner(
    records: Dict[str, List[Dict[str, Any]]], ids: Iterable[str], owner: Optional[int]
) -> List[SlurmJob]:
    """Return the newest record of each of these jobs that belongs to the run's owner, who alone may name its jobs."""
    return [
        record["job"] for job in ids for record in records.get(job, [])[-1:] if record["user"] == str(owner)
    ]


def _outcome(record: Dict[str, Any]) -> Dict[str, str]:
    """Return `outcome` and `reason` of a record that a user may have written, as texts, shortened.

    A text without letters or digits becomes "".
    """
    texts = {name: str(record[name] or "") for name in ("outcome", "reason") if name in record}
    return {name: text[:MOST_REASON] if any(map(str.isalnum, text)) else "" for name, text in texts.items()}


def _job_end(run: str) -> Dict[str, Any]:
    """Return the newest job_end event of the supervisors; {} without one, or if another job has started since."""
    newest: Dict[str, Any] = {}
    paths = history.event_files(run, "supervisor-")
    for path in sorted(paths, key=lambda path: modified(path) or 0.0)[-2:]:
        for event in history.parse(read_part(path, TAIL, -TAIL)):
            if event["event"] in ("job_start", "job_end"):
                newest = event if not newest or event["time"] >= newest["time"] else newest
    return newest if newest.get("event") == "job_end" else {}
