"""List, find, follow, show and cancel runs on a host that has their folder (Python 3.8, standard library).

This file is sent with its neighbors to `python3 -` on the control host, so that each command needs one ssh
(edge/bundler.py). Its first argument is the command, the second the folder of all runs.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, Dict, List

from clusterwright.onhost.lib.safe_reader import list_folder, parse_object, read_object, read_part
from clusterwright.onhost.runs import run_series, run_status
from clusterwright.onhost.runs.run_files import cancel_jobs, in_queue
from clusterwright.onhost.runs.run_folders import find, job_ids, newest
from clusterwright.onhost.runs.run_logs import POLL_INTERVAL_S, Follow
from clusterwright.onhost.supervisor.goodput import history

TAIL = 8192  # bytes at the end of a file that contain the last step
RECENT = 10  # number of ended runs in a list
NO_RUN = 69  # sysexits.h EX_UNAVAILABLE


def main() -> int:
    """Execute the command of the arguments; return the exit code."""
    command, runs, *arguments = sys.argv[1:]
    if command == "list":
        json.dump(list_runs(runs), sys.stdout)
        return 0
    run = find(runs, arguments[0])
    if not run:
        sys.stderr.write(
            f"no run `{arguments[0]}` in {runs}; runs: {', '.join(newest(runs)[:5]) or 'none'}\n"
        )
        return NO_RUN
    if command == "find":
        sys.stdout.write(run)
        return 0
    if command == "cancel":
        return cancel(run)
    if command == "status":
        sys.stdout.write(run_status.text(run, arguments[1]))
        return 0
    if command == "curves":
        sys.stdout.write(run_series.text(run))
        return 0
    return Follow(run, "json" if arguments[2:] == ["json"] else "text").show(live=arguments[1] == "live")


def list_runs(runs: str) -> List[Dict[str, Any]]:
    """Return the runs that have not ended, and the newest ones that have."""
    listed = [about(os.path.join(runs, name)) for name in newest(runs)]
    ended = [run["run"] for run in listed if run["ended"]][:RECENT]
    return [run for run in listed if not run["ended"] or run["run"] in ended]


def about(run: str) -> Dict[str, Any]:
    """Summarize a run by its folder."""
    steps = [name[5:] for name in list_folder(os.path.join(run, "checkpoints")) if name.startswith("step-")]
    generations = [int(name) for name in list_folder(os.path.join(run, "logs")) if name.isdigit()]
    return {
        "run": os.path.basename(run),
        "jobs": job_ids(run),
        "generation": max(generations, default=0),
        "checkpoint": max((int(step) for step in steps if step.isdigit()), default=None),
        "step": last_step(run),
        "ended": read_object(os.path.join(run, "ended.json")),
    }


def last_step(run: str) -> Any:
    """Return the newest step; only the end of each file is read, since a long run writes millions of lines."""
    steps = []
    for path in history.event_files(run):
        lines = read_part(path, TAIL, -TAIL).splitlines()
        events = [event for event in map(parse_object, lines) if event.get("event") == "step"]
        steps += [(event.get("time", 0), event.get("step")) for event in events[-1:]]
    return max(steps)[1] if steps else None


def cancel(run: str) -> int:
    """Request that the ranks save and leave; after 40 s, cancel the job in Slurm."""
    name = os.path.basename(run)
    try:
        as_owner(run, lambda: touch(run, "cancelled", "stop"))
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


def as_owner(path: str, work: Any) -> None:
    """Call `work` as the owner of the path: a file server may deny writes to root (root_squash)."""
    owner, uid = os.stat(path), os.geteuid()
    if uid == 0:
        os.setegid(owner.st_gid)
        os.seteuid(owner.st_uid)
    try:
        work()
    finally:
        if uid == 0:
            os.seteuid(0)
            os.setegid(0)


def touch(run: str, *names: str) -> None:
    """Create the marker files in the run's folder; a pipe or link in their place is an error."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    for name in names:
        os.close(os.open(os.path.join(run, name), flags, 0o666))
