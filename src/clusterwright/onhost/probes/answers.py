"""Prints how long the file system of each folder given takes to answer, as one JSON object: seconds, or why not.

A folder whose server is gone holds whoever asks in the kernel, beyond any signal: so each is asked by a process of
its own, and those that have not answered in time are left behind. What counts begins when such a process asks, not
when it is made, as a busy machine may take seconds for that.
"""

import json
import os
import select
import sys
import time
from typing import Any, Dict

LIMIT_S = 5.0  # leptonai/gpud and NVIDIA/deepops: a stat that takes longer is a fault of the file system
TOTAL_TIMEOUT_S = (
    12.0  # ours: by then a process that was made has had its turn, or the machine is beyond help
)


def probe(path: str) -> int:
    """A process asks; what is read from the pipe returned: that it begins, then seconds or what is wrong."""
    out, into = os.pipe()
    if os.fork():
        os.close(into)
        return out
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):  # who reads us would wait for as long as we are held
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
    """Ask all, wait for none longer than the limit."""
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
