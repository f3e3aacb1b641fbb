"""List, find, follow, show and cancel runs on a host that has their folder (Python 3.8, standard library).

This file is sent with its neighbors to `python3 -` on the control host, so that each command needs one ssh
(edge/bundler.py). Its first argument is the command, the second the folder of all runs.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from itertools import zip_longest
from typing import Any, Callable, Dict, Iterator, List, Optional, Set

from clusterwright.onhost.lib.accounts import AccountLookup, equal_shares
from clusterwright.onhost.lib.as_owner import CPU_S, WorkLimits, as_owner
from clusterwright.onhost.lib.by_owner import read_by_owner
from clusterwright.onhost.lib.files import append
from clusterwright.onhost.lib.numbers import ascii_int
from clusterwright.onhost.lib.run_outcome import EXIT_CODES, UNKNOWN, RunEvidence, RunState, decide
from clusterwright.onhost.lib.safe_reader import (
    Budget,
    OverBudgetError,
    list_folder,
    parse_object,
    read_part,
    reading_budget,
)
from clusterwright.onhost.runs import run_folders, run_series, run_state, run_status
from clusterwright.onhost.runs.run_files import cancel_jobs, in_queue
from clusterwright.onhost.runs.run_folders import denied, find, job_ids, newest
from clusterwright.onhost.runs.run_logs import POLL_INTERVAL_S, Follow
from clusterwright.onhost.supervisor.goodput import history

TAIL = 8192  # bytes at the end of a file that contain the last step
MOST_NAMES = 1000  # names of runs that one answer lists
RECENT = 10  # number of ended runs in a list
NOT_QUERIED = "Slurm was not queried for its jobs: the runs of its owner name too many"
MOST_REASON = 300  # characters of an error
NO_RUN = 69  # sysexits.h EX_UNAVAILABLE
UNREADABLE = 74  # sysexits.h EX_IOERR
LIST_S, LIST_BYTES = 20.0, 1 << 30  # to list all runs: seconds together, bytes of each owner
READ_S, READ_BYTES = 300.0, 1 << 30  # to read one run


def main() -> int:
    """Execute the command of the arguments; return the exit code.

    NO_RUN if no run has the name, UNREADABLE if its owner does not share it or its files cannot be read.

    Raises:
        BrokenPipeError: the reader of stdout has left.
    """
    command, runs, *arguments = sys.argv[1:]
    if command in ("list", "names"):
        json.dump(list_runs(runs) if command == "list" else newest(runs)[:MOST_NAMES], sys.stdout)
        return 0
    run = find(runs, arguments[0], cancels=command == "cancel")
    unshared = "" if run else denied(runs, arguments[0])
    if unshared:
        sys.stderr.write(f"cannot read {unshared}: its owner does not share it with you\n")
        return UNREADABLE
    if not run:
        sys.stderr.write(no_run(runs, arguments[0]) + "\n")
        return NO_RUN
    if command == "find":
        sys.stdout.write(run)
        return 0
    try:
        if command == "cancel":
            return cancel(run)
        if command == "logs":
            # A pager stops the clock, not the processor; who follows a run may do so for days.
            limits = WorkLimits(cpu_s=CPU_S if arguments[1] == "live" else READ_S)
            return int(as_owner(run, lambda: show_logs(run, *arguments[1:]), limits))
        text: Any = {"status": run_status.text, "curves": run_series.text}[command]
        limits = WorkLimits(READ_S, READ_S)
        sys.stdout.write(as_owner(run, lambda: _within_budget(lambda: text(run, *arguments[1:])), limits))
    except BrokenPipeError:
        raise  # the reader of stdout has left
    except (OSError, OverBudgetError) as error:
        sys.stderr.write(f"cannot read {run}: {error}\n")
        return UNREADABLE
    return 0


def no_run(runs: str, reference: str) -> str:
    """Return the error message for a reference that names no run."""
    return f"no run `{reference}` in {runs}"


def _within_budget(read: Callable[[], str]) -> str:
    with reading_budget(Budget(READ_S, READ_BYTES)):
        return read()


def show_logs(run: str, how: str, form: str = "text") -> int:
    """Print the logs of a run, `live` or `once`, as `text` or `json`; return the run's exit code."""
    return Follow(run, form).show(live=how == "live")


def list_runs(runs: str) -> List[Dict[str, Any]]:
    """Return summaries of the runs that have not ended, and of the newest RECENT that have.

    Of each user's runs that cannot be read, one is listed with its error.
    """
    names, listed_runs, unreadable, account = newest(runs), {}, [], AccountLookup()
    folders = (os.path.join(runs, name) for name in names)
    for folder, run, error in read_by_owner(folders, LIST_S, LIST_BYTES, about):
        if not error:
            listed_runs[os.path.basename(folder)] = run
            continue
        with contextlib.suppress(OSError):  # its user has renamed or removed it meanwhile
            unreadable.append((account(os.lstat(folder).st_uid), about_unreadable(folder, error)))
    listed = [listed_runs[name] for name in names if name in listed_runs]
    _add_states(runs, listed)
    ended = [run["run"] for run in listed if run["state"] in EXIT_CODES][:RECENT]
    return [
        *(run for run in listed if run["state"] not in EXIT_CODES or run["run"] in ended),
        *dict(reversed(unreadable)).values(),
    ]


def _add_states(runs: str, listed: List[Dict[str, Any]]) -> None:
    """Replace the evidence in each run's summary by its state and reason, in place.

    Slurm is asked once, for all runs whose files do not show their state.
    """
    evidence = {run["run"]: RunEvidence(**run.pop("evidence")) for run in listed}
    states = {name: decide(run_evidence) for name, run_evidence in evidence.items()}
    unclear = [run for run in listed if states[run["run"]].state == UNKNOWN]
    owners = {run["run"]: run_folders.owner_of(os.path.join(runs, run["run"])) for run in unclear}
    queried = _queried_ids(unclear, owners)
    records = run_state.query_jobs(queried) if unclear else None
    for run in unclear if records is not None else ():
        name = run["run"]
        jobs = run_state.of_owner(records or {}, run["jobs"], owners[name])
        states[name] = decide(evidence[name]._replace(jobs=jobs))
        if run["jobs"] and queried.isdisjoint(run["jobs"]):
            states[name] = RunState(UNKNOWN, NOT_QUERIED)
    for run in listed:
        run["state"], run["reason"] = states[run["run"]][:2]


def _queried_ids(unclear: List[Dict[str, Any]], owners: Dict[str, Optional[int]]) -> Set[str]:
    """Return the job ids for one query of Slurm: an equal number for each owner, the newest of each run first."""
    account = AccountLookup()
    ids: Dict[int, List[Iterator[str]]] = {}
    for run in unclear:
        owner = owners[run["run"]]
        if owner is not None:
            ids.setdefault(account(owner), []).append(reversed(run["jobs"]))
    rows = {
        owner: [job for turn in zip_longest(*ids_of_runs) for job in turn if job]
        for owner, ids_of_runs in ids.items()
    }
    return {job for row in equal_shares(rows, run_state.MOST_JOBS).values() for job in row}


def about_unreadable(run: str, error: BaseException) -> Dict[str, Any]:
    """Return the summary of a run that cannot be read, with state `unreadable` and the error as reason."""
    reason = str(error)[:MOST_REASON] or type(error).__name__
    return {
        "run": os.path.basename(run),
        "jobs": [],
        "generation": 0,
        "checkpoint": None,
        "step": None,
        "state": "unreadable",
        "reason": f"its folder cannot be read: {reason}",
    }


def about(run: str) -> Dict[str, Any]:
    """Return the summary of a run by its folder: jobs, newest generation, checkpoint, step, evidence of its state."""
    names = list_folder(os.path.join(run, "checkpoints"))
    steps = [ascii_int(name[5:]) for name in names if name.startswith("step-")]
    generations = map(ascii_int, list_folder(os.path.join(run, "logs")))
    return {
        "run": os.path.basename(run),
        "jobs": job_ids(run),
        "generation": max((number for number in generations if number is not None), default=0),
        "checkpoint": max((step for step in steps if step is not None), default=None),
        "step": last_step(run),
        "evidence": run_state.read_evidence(run)._asdict(),
    }


def last_step(run: str) -> Any:
    """Return the number of the run's newest step, None without one; only the end of each event file is read."""
    steps = []
    for path in history.event_files(run):
        lines = read_part(path, TAIL, -TAIL).splitlines()
        events = [event for event in map(parse_object, lines) if event.get("event") == "step"]
        steps += [(float(event.get("time", 0)), event.get("step")) for event in events[-1:]]
    newest_step = max(steps, key=lambda pair: pair[0])[1] if steps else None
    return newest_step if isinstance(newest_step, int) else None


def cancel(run: str) -> int:
    """Cancel a run: request that its ranks save and leave, wait at most 40 s, then cancel its jobs in Slurm; return 0.

    Print that it is canceled.
    """
    name = os.path.basename(run)
    try:  # a file server may deny writes to root
        as_owner(run, lambda: touch(run, "cancelled", "stop"), WorkLimits(READ_S, READ_S))
    except OSError as error:  # its owner cannot keep the job by making the folder unwritable
        sys.stderr.write(f"the ranks cannot be told to save: {error}\n")
    cancel_jobs(run, pending=True)
    # the supervisor's grace is 10 s to 290 s; a user who cancels waits no longer than this
    deadline = time.monotonic() + 40
    while in_queue(run) and time.monotonic() < deadline:
        time.sleep(POLL_INTERVAL_S)
    cancel_jobs(run)
    sys.stdout.write(f"canceled {name}\n")
    return 0


def touch(run: str, *names: str) -> None:
    """Create empty marker files, such as `stop`, in the run's folder; a pipe or link in their place is an error."""
    for name in names:
        append(os.path.join(run, name), b"")
