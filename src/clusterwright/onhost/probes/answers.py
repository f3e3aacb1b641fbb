"""Prints the response time of the file system of each given folder as one JSON object: seconds, or the error.

A folder whose file server is gone blocks a process in the kernel, beyond any signal: so each folder has its own probe
process, and those without a result in time are abandoned. The time starts when the probe process runs, not when it is
forked, because a busy host may take seconds for that.
"""

import json
import os
import select
import sys
import time
from typing import Any, Dict

LIMIT_S = 5.0  # leptonai/gpud and NVIDIA/deepops: a slower stat is a fault of the file system
TOTAL_TIMEOUT_S = 12.0  # our choice: a host on which a process has not run by then is beyond help


def probe(path: str) -> int:
    """Fork a process that measures how long statvfs of a folder takes; return the read end of its pipe.

    The pipe delivers a start mark, then the seconds or an error as text.
    """
    out, into = os.pipe()
    if os.fork():
        os.close(into)
        return out
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):  # else a blocked probe would keep the caller's pipes open
        os.dup2(nowhere, standard)
    os.write(into, b" ")
    began = time.monotonic()
    try:
        os.statvfs(path)
        outcome = "%.3f" % (time.monotonic() - began)
    except OSError as error:
        outcome = error.strerror or str(error)
    os.write(into, outcome.encode())
    os._exit(0)


def main() -> None:
    """Probe all folders of the arguments at once, each within the limit, and print the results by path as JSON."""
    end = time.monotonic() + TOTAL_TIMEOUT_S
    pipes = {probe(path): path for path in sys.argv[1:]}
    begun: Dict[str, float] = {}
    outcomes: Dict[str, Any] = {}
    while len(outcomes) < len(pipes) and time.monotonic() < end:
        waiting = [pipe for pipe, path in pipes.items() if path not in outcomes]
        for pipe in select.select(waiting, [], [], 0.1)[0]:
            path, data = pipes[pipe], os.read(pipe, 1000).decode(errors="replace")
            begun.setdefault(path, time.monotonic())
            if data.strip():
                text = data.strip()
                outcomes[path] = float(text) if text[0].isdigit() else text
            elif not data:
                outcomes[path] = "ended without an answer"
        for path, start in begun.items():
            if time.monotonic() - start > LIMIT_S:
                outcomes.setdefault(path, "no answer")
    json.dump({path: outcomes.get(path, "not asked") for path in pipes.values()}, sys.stdout)
    sys.stdout.flush()
    os._exit(0)


main()
