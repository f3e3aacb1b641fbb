"""Calls sacctmgr: concurrent queries and changes, in as few calls as possible.

Standard library only, Python 3.6 or later. A call costs 0.2 s, and more for each of sacctmgr's requests to
slurmdbd (22.05: every response waits for a delayed TCP acknowledgement), so independent calls run concurrently.
"""

import os
import socket
import tempfile
import time
from typing import Dict, List, Set, Tuple

from clusterwright.onhost.lib import processes
from clusterwright.onhost.provision.accounts import NON_SETTING_KEYS
from clusterwright.onhost.provision.host import ENVIRONMENT, ChangeError, Json

READY_S = 30  # slurmdbd creates its tables in 0.7 s, but its first start is on a busy host
CALL_S = 60
MAX_PARALLEL_CALLS = 8  # slurmdbd serves each call in a thread

FIELDS_BY_KIND = {
    "qos": (
        "Name", "Priority", "Preempt", "PreemptMode", "GraceTime", "MaxWall", "GrpTRES", "MaxTRESPerJob",
        "MaxTRESPerUser", "MaxJobsPerUser", "Flags",
    ),
    "assoc": (
        "Account", "User", "Partition", "ParentName", "Fairshare", "GrpTRES", "GrpJobs", "QOS", "DefaultQOS",
    ),
    "user": ("User", "DefaultAccount", "AdminLevel"),
}  # fmt: skip

QUERY_BY_KIND = {"qos": "qos", "account": "assoc", "user": "assoc", "person": "user"}  # of rows
FORMAT = "format="
Invocation = Tuple[List[str], processes.Process]  # arguments, process
Queries = Dict[str, Invocation]


def answers(address: str, port: str, timeout_s: float) -> str:
    """Wait until a daemon listens at the address; return "", or the connection error after `timeout_s`.

    It tries at least once, also with 0.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            socket.create_connection((address, int(port)), timeout=1).close()
        except OSError as error:
            if time.monotonic() > deadline:
                return str(error)
            time.sleep(0.02)
        else:
            return ""


def start(argv: List[str]) -> Invocation:
    """Start sacctmgr with these arguments in the background, and return the call for `finish`, which waits for it."""
    return argv, processes.start(
        ["sacctmgr", *argv],
        stdout=processes.PIPE,
        stderr=processes.STDOUT,
        env=dict(os.environ, **ENVIRONMENT),
    )


def finish(invocation: Invocation) -> str:
    """Wait for a call of sacctmgr and return its output; raise ChangeError with its last lines if it failed."""
    argv, process = invocation
    result = processes.collect(process, CALL_S)
    if not result.ok:
        output = result.out + (f"no response after {CALL_S} s" if result.stopped else "")
        last = "\n".join(output.strip().splitlines()[-8:])
        raise ChangeError(f"`sacctmgr {' '.join(argv)}` exited with code {result.code}:\n{last}", "host")
    return result.out


def start_queries(cluster: str, rows: List[Json]) -> Queries:
    """Start sacctmgr's queries for QOS, associations and users in the background and return them by kind.

    `read_answers` reads them. They query the settings of the desired rows.
    """
    only = {"assoc": ["cluster=" + cluster]}
    return {
        kind: start(["-nP", "show", kind, *only.get(kind, []), FORMAT + ",".join(fields)])
        for kind, fields in queried_fields(rows).items()
    }


def queried_fields(rows: List[Json]) -> Dict[str, List[str]]:
    """Return the fields to query by kind: those that every apply compares, and further settings of the rows."""
    names: Dict[str, Set[str]] = {kind: set() for kind in FIELDS_BY_KIND}
    for row in rows:
        names.get(QUERY_BY_KIND.get(row["kind"], ""), set()).update(
            setting.partition(" ")[0] for setting in row if setting not in (*NON_SETTING_KEYS, "Parent")
        )
    return {
        kind: [*fields, *sorted(names[kind].difference(fields))] for kind, fields in FIELDS_BY_KIND.items()
    }


def read_answers(queries: Queries) -> Dict[str, List[Dict[str, str]]]:
    """Wait for the queries and return the rows of each, by kind; a row is a dictionary by field."""
    rows_by_kind = {}
    for kind, invocation in queries.items():
        fields = invocation[0][-1][len(FORMAT) :].split(",")
        lines = [line.split("|") for line in finish(invocation).splitlines() if "|" in line]
        rows_by_kind[kind] = [dict(zip(fields, line)) for line in lines]
    return rows_by_kind


def change_all(calls: List[List[str]]) -> None:
    """Make independent calls of sacctmgr, MAX_PARALLEL_CALLS at a time; raise the first failure after the last call."""
    failed = []  # type: List[ChangeError]
    for offset in range(0, len(calls), MAX_PARALLEL_CALLS):
        running = [start(["-i", *argv]) for argv in calls[offset : offset + MAX_PARALLEL_CALLS]]
        for invocation in running:
            try:
                finish(invocation)
            except ChangeError as error:
                failed.append(error)
    if failed:
        raise failed[0]


def load(cluster: str, sections: List[Tuple[str, List[str]]]) -> None:
    """Add new teams and members in one call: `sacctmgr load` adds what its file has and slurmdbd does not."""
    if not sections:
        return
    with tempfile.NamedTemporaryFile("w", prefix="wright-", suffix=".cfg") as file:
        file.write(f"Cluster - '{cluster}'\n")
        for parent, lines in sections:
            file.write("".join(line + "\n" for line in [f"Parent - '{parent}'", *lines]))
        file.flush()
        finish(start(["-i", "load", "file=" + file.name]))
