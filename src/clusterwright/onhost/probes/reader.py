"""Runs commands on this host, several at once, each with a time limit, and prints their results in one JSON line.

Python 3.6 or later. No command outlives its limit; one blocked in the kernel is killed with its process group,
abandoned, and reported as `survived`.
"""

import json
import os
import sys
import threading
import time
from typing import Any, Dict

from clusterwright.onhost.lib import processes

MARKER = "@clusterwright-facts "  # text before it on stdout is a login banner or the like
AT_ONCE = 8  # our choice: most facts wait for a daemon or the network and use no CPU
MOST_BYTES = (
    1 << 20
)  # our choice: the largest valid output (the nodes of a 1,000-host cluster) is about 700 kB
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL": "C",
    "HOME": "/root",
}


def environment() -> Dict[str, str]:
    """Return the environment of commands; a user's PATH comes after the system's, as it may have Slurm's commands."""
    if os.geteuid() == 0:
        return ENVIRONMENT
    path = ENVIRONMENT["PATH"] + ":" + os.environ.get("PATH", "")
    return dict(ENVIRONMENT, PATH=path, HOME=os.path.expanduser("~"))


def run_fact(item: Dict[str, Any], deadline: float) -> Dict[str, Any]:
    """Run the command of one fact within its limit, and never beyond `deadline` (monotonic); return its result.

    That is a dict of code, output, seconds and why it was stopped.
    """
    started = time.monotonic()
    limit_s = min(item["limit_s"], deadline - started)
    if limit_s <= 0:
        return {"code": None, "out": "", "err": "", "seconds": 0, "stopped": "never had its turn"}
    argv = [sys.executable if argument == "python3" else argument for argument in item["argv"]]
    result = processes.run(
        argv, limit_s, stdin=item.get("stdin", "").encode(), env=environment(), limit=MOST_BYTES
    )
    return {
        "code": result.code,
        "out": result.out,
        "err": result.err[-2000:],
        "seconds": round(time.monotonic() - started, 4),
        "stopped": result.stopped,
        "survived": result.survived,
    }


def main() -> None:
    """Run all commands of the request on stdin, print the results, and exit without waiting for blocked threads."""
    request = json.load(sys.stdin)
    began, deadline = time.time(), time.monotonic() + request["deadline_s"]
    answers = {}  # type: Dict[str, Any]
    waiting = list(reversed(request["facts"]))

    def work() -> None:
        while waiting:
            try:
                item = waiting.pop()
            except IndexError:
                return
            answers[item["id"]] = run_fact(item, deadline)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0, deadline + 2 - time.monotonic()))
    report = {"python": sys.version.split()[0], "began": began, "facts": dict(answers), "ended": time.time()}
    sys.stdout.write("\n" + MARKER + json.dumps(report) + "\n")
    sys.stdout.flush()
    os._exit(0)
