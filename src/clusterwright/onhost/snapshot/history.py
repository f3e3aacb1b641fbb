"""Records of past and present jobs, and metrics (standard library, Python 3.8; sent to the controller).

The argument is one JSON object: the period, a job or none, the runs folder and Prometheus, queries by name, and the
time limit of each part. Prints one JSON object; sources that did not respond are in `silent`.
"""

from __future__ import annotations

import glob
import gzip
import json
import os
import re
import sys
import time
from collections import Counter
from typing import Any, Dict, Iterator, List, Optional

from clusterwright.onhost.lib.accounts import AccountLookup
from clusterwright.onhost.lib.as_owner import WorkLimits, as_owner
from clusterwright.onhost.lib.by_owner import read_by_owner
from clusterwright.onhost.lib.numbers import finite
from clusterwright.onhost.lib.run_outcome import RUNNING, decide
from clusterwright.onhost.lib.safe_reader import OverBudgetError, modified, read_object
from clusterwright.onhost.runs import run_folders, run_series, run_state, run_status
from clusterwright.onhost.snapshot import monitors, programs
from clusterwright.onhost.supervisor.goodput import advice, communication, figures, history, slow, speed
from clusterwright.onhost.supervisor.goodput.accounting import BINS
from clusterwright.slurm.states import HOLDING

Document = Dict[str, Any]

# Field names of sacct and of squeue.
QUEUE = (
    ("JobID", "JobArrayID"), ("User", "UserName"), ("Account", "Account"), ("Partition", "Partition"), ("QOS", "QOS"),
    ("State", "State"), ("Submit", "SubmitTime"), ("Eligible", "EligibleTime"), ("Start", "StartTime"),
    ("Elapsed", "TimeUsed"), ("Timelimit", "TimeLimit"), ("NNodes", "NumNodes"), ("NCPUS", "NumCPUs"),
    ("AllocTRES", "tres-alloc"), ("NodeList", "NodeList"), ("JobName", "Name"),
)  # fmt: skip
MOST_BYTES = 512 << 20  # bytes of slurmctld's job completion file: a million jobs; the rest is not read
NEWEST_RUNS = (
    200  # runs of one owner without stored goodput accounting (mostly running) for which it is computed
)
RUNS_S, RUNS_BYTES = 120.0, 4 << 30  # limits to read all runs: seconds together, bytes of each owner
MOST_FAILURES = 1000  # failures of a run
MOST_REASON = 300  # characters
RUN_S = 30.0  # seconds to read or compute the accounting of one run
_END = re.compile(r" EndTime=(\S+) ")


def main() -> int:
    """Print the history of jobs, metrics and runs for the request in the first argument as JSON; return 0."""
    json.dump(document(json.loads(sys.argv[1])), sys.stdout)
    return 0


def document(request: Document) -> Document:
    """Return past jobs, metric values and runs for a request, queried one after the other.

    A source that fails is named in `silent`.
    """
    result: Document = {
        "schema": 1, "now": time.time(), "zone_s": time.localtime(request["begin"]).tm_gmtoff, "silent": {},
        "sacct": "", "jobcomp": "", "queue": "", "values": {}, "run": None, "runs": [],
    }  # fmt: skip
    run = run_folders.find(request["runs"], request["job"]) if request["job"] and request["runs"] else ""
    ids = run_folders.job_ids(run) if run else [request["job"]] if request["job"] else []
    _slurm(result, request, ids)
    _add_metrics(result, request)
    if run:
        result["run"] = run_of(result, run)
    elif not request["job"] and request["runs"]:
        _add_runs(result, request)
    return result


def _slurm(result: Document, request: Document, ids: List[str]) -> None:
    """Add past jobs from sacct, or without accounting from slurmctld's job completion file and the present queue.

    With `ids` only those jobs; a source that fails is named in `silent`.
    """
    separator, limit_s = str(request["mark"]), float(request["limit_s"])
    if request["accounting"]:
        argv = ["sacct", "--parsable2", f"--delimiter={separator}", "--format=" + ",".join(request["fields"])]
        argv += ["--jobs=" + ",".join(ids)] if ids else ["--allusers", "--allocations"]
        argv += [] if ids else ["-S", _local(request["begin"]), "-E", _local(request["end"])]
        _add_output(result, "sacct", programs.run_program(argv, limit_s))
        return
    try:
        begin = _local(request["begin"])
        result["jobcomp"] = "".join(
            line for line in _lines(str(request["jobcomp"])) if _is_of(line, begin, ids)
        )
    except OSError as error:
        result["silent"]["jobcomp"] = f"{error.filename}: {error.strerror}"
    columns = ",".join(f"{theirs}:{separator}" for _, theirs in QUEUE)
    argv = ["squeue", "--noheader", "--all", "--states=" + ",".join(HOLDING), "--Format=" + columns]
    _add_output(
        result, "queue", programs.run_program(argv + (["--jobs=" + ",".join(ids)] if ids else []), limit_s)
    )
    rows = programs.rows(result["queue"], separator, len(QUEUE))
    lines = [separator.join(" ".join(cell.split()) for cell in row) for row in rows]
    result["queue"] = "\n".join([separator.join(ours for ours, _ in QUEUE), *lines]) + "\n"


def _add_output(result: Document, name: str, output: programs.Output) -> None:
    result[name] = output.text
    if output.reason:
        result["silent"][name] = output.reason


def _lines(path: str) -> Iterator[str]:
    """Yield the lines of a log file and of its rotated copies, the oldest file first, up to MOST_BYTES in all.

    Raises:
        FileNotFoundError: there is none.
    """
    paths = sorted(glob.glob(glob.escape(path) + "*"), key=os.path.getmtime)
    if not paths:
        raise FileNotFoundError(2, "No such file or directory", path)
    remaining = MOST_BYTES
    for log_path in paths:
        packed = log_path.endswith(".gz")
        with (
            gzip.open(log_path, "rt", errors="replace")
            if packed
            else open(log_path, errors="replace") as file
        ):
            for line in file:
                remaining -= len(line)
                if remaining < 0:
                    return
                yield line


def _is_of(line: str, begin: str, ids: List[str]) -> bool:
    if ids:
        return line.startswith("JobId=") and line[6:].split(" ", 1)[0] in ids
    ended = _END.search(line)
    return ended is None or ended[1] >= begin  # times sort as text; the reader counts incomplete lines


def _local(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(moment))


def _add_metrics(result: Document, request: Document) -> None:
    """Add Prometheus's results by query name, or one error."""
    end = time.monotonic() + float(request["limit_s"])
    try:
        for name, query in request["queries"].items():
            result["values"][name] = monitors.query_prometheus(request["prometheus"], query, end)
    except (OSError, ValueError, KeyError, TypeError) as error:
        result["silent"]["prometheus"] = str(error)[:200]


def run_of(result: Document, folder: str) -> Document:
    """Return all records of the run in `folder`, read as its owner; {} if that fails.

    The error is then stored in `result["silent"]`.
    """
    try:
        return dict(as_owner(folder, lambda: _records(folder), WorkLimits(RUN_S, RUN_S)))
    except Exception as error:  # noqa: BLE001 (a thread that must never end)
        result["silent"]["run"] = f"{os.path.basename(folder)}: {type(error).__name__}: {error}"
        return {}


def _records(folder: str) -> Document:
    run_history = history.read(folder)
    series = json.loads(run_series.text(folder))
    reading = speed.combine_generations(run_history.events)
    return {
        "status": run_status.status(folder),
        "slow": [list(row) for row in slow.find_stragglers(run_history.events)],
        "memory": series["series"].get("memory", []),
        "record": _record(run_history.record),
        "reading": None
        if reading is None
        else {**reading._asdict(), "wanted": advice.needed_workers(reading)},
        "communication": _communication(run_history.events),
        "saves": [
            float(event.get("seconds") or 0)
            for event in run_history.events
            if event["event"] in ("checkpoint_staged", "checkpoint")
        ],
    }


def _communication(events: List[history.Event]) -> Document:
    """Return the share of the step time in exposed communication, over all generations, and what it was measured in.

    `status`: how the newest generation measures it, or why not; `hosts`: its number of hosts. Without a measurement
    only these two.
    """
    stats = communication.combine_generations(events)
    extra = {"status": communication.status(events), "hosts": communication.hosts(events)}
    return extra if stats is None else {**stats._asdict(), **extra}


def _record(record: Any) -> Document:
    job = record.get("job") or {}
    return {
        "data": [
            {"path": dataset.get("path"), "stage": dataset.get("stage")} for dataset in job.get("data") or []
        ],
        "price": record.get("price"),
        "gpu": (record.get("gpu") or {}).get("name"),
    }


def _add_runs(result: Document, request: Document) -> None:
    """Add the runs of the period; `silent` gets the number of those that were not read, and why the first was not."""
    unread: List[str] = []
    result["runs"] = list(_runs(request["runs"], request["begin"], request["end"], unread))
    if unread:
        result["silent"]["runs"] = f"{len(unread)} were not read, among them {unread[0][:MOST_REASON]}"


def _runs(runs: str, begin: float, end: float, unread: List[str]) -> Iterator[Document]:
    """Yield the goodput accounting of each run in the folder `runs` between `begin` and `end` (epoch seconds).

    A run that cannot be read is added to `unread`, with the error, and does not affect the others.
    """
    folders = [os.path.join(runs, name) for name in run_folders.newest(runs)]
    computed: Counter[int] = Counter()
    account = AccountLookup()

    def read(folder: str) -> Document:
        return _run_row(folder, begin, end, computed, account(os.lstat(folder).st_uid))

    for folder, row, error in read_by_owner(folders, RUNS_S, RUNS_BYTES, read):
        if error:
            unread.append(f"{os.path.basename(folder)}: {error or type(error).__name__}")
        elif row:
            yield row


def _run_row(folder: str, begin: float, end: float, computed: Counter[int], account: int) -> Document:
    """Return a run's stored accounting, without it a computed one; {} for a run before the period.

    Raises:
        OverBudgetError: NEWEST_RUNS of this owner were computed already.
    """
    if _changed(folder) < begin:
        return {}
    written = read_object(os.path.join(folder, "ledger.json"))
    if not written:
        computed[account] += 1
        if computed[account] > NEWEST_RUNS:
            raise OverBudgetError(
                f"it has no stored accounting, and {NEWEST_RUNS} others of its owner have none"
            )
    state = decide(run_state.read_evidence(folder)).state
    if not written:
        end_time = time.time() if state == RUNNING else None
        written = as_owner(folder, lambda: _goodput_accounting(folder, end_time), WorkLimits(RUN_S, RUN_S))
    if not written:
        return {}
    owner, gpu_s = run_folders.owner_of(folder), written.get("gpu_s") or {}
    return {
        "run": os.path.basename(folder),
        "user": "" if owner is None else run_folders.user_name(owner),
        "jobs": run_folders.job_ids(folder),
        "state": state,
        "gpu_s": {name: max(0.0, finite(gpu_s[name]) or 0.0) for name in BINS if name in gpu_s},
        "goodput": finite(written.get("goodput")),
        "failures": [
            {
                "reason": str(failure.get("reason"))[:100],
                "time": failure.get("time", 0),
                "first_failure": str(failure.get("first_failure", ""))[:200],
            }
            for failure in written.get("failures", [])[:MOST_FAILURES]
            if begin <= failure.get("time", 0) < end
        ],
    }


def _changed(folder: str) -> float:
    return max((modified(path) or 0.0 for path in history.event_files(folder)), default=0.0)


def _goodput_accounting(folder: str, now: Optional[float]) -> Document:
    """Return the accounting of a run, up to `now` if it is running."""
    return figures.document(figures.work_out(history.read(folder), now))
