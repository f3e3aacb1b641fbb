"""Prints a job's logs and events as one JSON document, on a host that mounts them (standard library, Python 3.8).

Sent to `python3 -` on the controller with the runs folder, the job, the id of its user, a limit of seconds, and paths
that Slurm reported. The middle of a long file is left out: the first failure is near its beginning or its end. A run is
read as its owner, other paths as the job's user, since a user chooses them; the user can stop these readers, so
together they have the limit.
"""

from __future__ import annotations

import base64
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import partial
from typing import Any, Dict, List, Optional

from clusterwright.onhost.lib.as_owner import (
    UserRights,
    WorkLimits,
    account_of,
    as_account,
    as_owner,
    user_account,
)
from clusterwright.onhost.lib.safe_reader import (
    Budget,
    OverBudgetError,
    is_regular,
    list_folder,
    open_regular,
    parse_object,
    read_bytes,
    reading_budget,
    walk_folder,
)
from clusterwright.onhost.runs.run_decay import find_decays
from clusterwright.onhost.runs.run_folders import find, job_ids, own_job_ids
from clusterwright.onhost.runs.run_state import read_state

ALL_BYTES = 48 << 20  # of all files together: seconds over a slow link
LEAST_BYTES = 64 << 10  # of one file
READ_S, READ_BYTES = 60.0, 512 << 20  # budget for a run: what is not read within it is left out
DUMP_BYTES = 24 << 20  # of all dumps together; one larger than its share is left out
_OF_RANK = re.compile(r"logs/(\d+)/([^/]+)/(\d+)\.(?:out|err|stacks)$")
_OF_TORCHRUN = re.compile(r"logs/(\d+)/([^/]+)/.*attempt_\d+/(\d+)/std(?:out|err)\.log$")


def main() -> int:
    """Print a job's texts, and its run's events and dumps if it has a run, as one JSON document; return 0.

    An error of reading goes to stderr; the document then has what was read before.
    """
    runs, job, uid, seconds, *named = sys.argv[1:]
    end = time.monotonic() + float(seconds)
    run = find(runs, job)
    document: Dict[str, Any] = {"run": run, "state": [], "jobs": [], "events": []}
    document.update(texts=[], dumps=[], decay=[])
    try:
        if run:
            document.update(as_owner(run, lambda: of_run(run), _limits(2 * READ_S, end)))
        for path in named:
            account = named_account(path, uid)
            document["texts"] += as_account(account, partial(texts, [path]), _limits(READ_S, end))
    except OSError as error:
        sys.stderr.write(f"cannot read the files of {job}: {error}\n")
    json.dump(document, sys.stdout)
    return 0


def _limits(seconds: float, end: float) -> WorkLimits:
    """Return the limits of a reader: its own seconds, and what remains until `end`."""
    return WorkLimits(max(0.0, min(seconds, end - time.monotonic())), seconds)


def of_run(run: str) -> Dict[str, Any]:
    """Return texts, events, decay, dumps and job ids in a run's folder, as far as the reading budget reaches."""
    document: Dict[str, Any] = {}
    try:
        with reading_budget(Budget(READ_S, READ_BYTES)):
            document["jobs"] = own_job_ids(run)
            document["state"] = list(read_state(run, job_ids(run))[:2])
            document["texts"] = texts(list(files_of(run)))
            document["events"] = events(run)
            document["decay"] = [{"host": decay.host, "text": decay.text} for decay in find_decays(run)]
            document["dumps"] = dumps(run)
    except OverBudgetError as error:
        sys.stderr.write(f"{run} was not read to the end: {error}\n")
    return document


def named_account(path: str, uid: str) -> Optional[UserRights]:
    """Return the account that may read a path which Slurm reported: user `uid` of the job, else the file's owner.

    None for this process's own account.

    Raises:
        PermissionError: this is root, the user is unknown, and the file is root's.
    """
    if uid.isdecimal():
        return user_account(int(uid))
    account = account_of(path)
    if account is None and os.geteuid() == 0:
        raise PermissionError(1, "belongs to root, and the job's user is unknown", path)
    return account


def texts(paths: List[str]) -> List[Dict[str, str]]:
    """Return the texts of regular files, each with path, host and local rank; once the budget is spent, no more."""
    paths = [path for path in dict.fromkeys(paths) if is_regular(path)]
    share = max(LEAST_BYTES, ALL_BYTES // max(1, len(paths)))
    result: List[Dict[str, str]] = []
    try:
        for path in paths:
            result.append({"path": path, **owner(path), "text": read(path, share)})
    except OverBudgetError as error:
        sys.stderr.write(f"{len(paths) - len(result)} files were not read: {error}\n")
    return result


def files_of(run: str) -> Iterator[str]:
    """Yield the paths of a run's logs: of its last two generations and of the job itself, and of dumped stacks."""
    for name in list_folder(run):
        if fnmatch(name, "slurm-*.out") or name == "job.out":
            yield os.path.join(run, name)
    logs = os.path.join(run, "logs")
    for number in _numbers(logs)[-2:]:
        for path in sorted(walk_folder(os.path.join(logs, str(number)))):
            if path.endswith((".out", ".err", ".log", ".stacks")):
                yield path


def dumps(run: str) -> List[Dict[str, str]]:
    """Return the NCCL flight recorder's dumps of the last generation in base64.

    Each has its share of DUMP_BYTES; those that cannot be read in it are left out.
    """
    logs = os.path.join(run, "logs")
    files = (path for number in _numbers(logs)[-1:] for path in walk_folder(os.path.join(logs, str(number))))
    paths = [path for path in files if fnmatch(os.path.basename(path), "nccl-[0-9]*")]
    share = DUMP_BYTES // max(1, len(paths))
    result = []
    for path in sorted(paths):
        try:
            data = read_bytes(path, share)
        except OSError:
            continue
        result.append({"path": path, "base64": base64.b64encode(data).decode()})
    return result


def events(run: str) -> list[dict[str, Any]]:
    """Return the events in a run's folder that tell about failures and ends, sorted by time."""
    telling = ("rank_exit", "rank_hung", "host_lost", "generation_end", "job_end")
    result = []
    folder = os.path.join(run, "events")
    for name in list_folder(folder):
        lines = read(os.path.join(folder, name), 4 << 20).splitlines() if name.endswith(".jsonl") else []
        for event in map(parse_object, lines):
            if event.get("event") in telling and isinstance(event.get("time", 0), (int, float)):
                result.append(event)
    return sorted(result, key=lambda event: float(event.get("time", 0)))


def owner(path: str) -> dict[str, str]:
    """Return the host and local rank that a log's path names; empty texts if it names none."""
    match = _OF_RANK.search(path) or _OF_TORCHRUN.search(path)
    return {"host": match.group(2), "local": match.group(3)} if match else {"host": "", "local": ""}


def read(path: str, most: int) -> str:
    """Return at most `most` bytes of a text: of a longer file a quarter from its beginning, the rest from its end.

    Empty if the file cannot be read.
    """
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size <= most:
                return file.read(most).decode(errors="replace")
            head = file.read(most // 4)
            file.seek(size - (most - most // 4))
            return (head + b"\n" + file.read(most)).decode(errors="replace")
    except OSError:
        return ""


def _text(path: str) -> str:
    return read(path, 1 << 20)


def _numbers(folder: str) -> List[int]:
    """Return the names in a folder that are numbers, sorted."""
    return sorted(int(name) for name in list_folder(folder) if name.isdecimal())
