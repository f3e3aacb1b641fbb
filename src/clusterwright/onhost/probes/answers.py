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
PATIENCE_S = 12.0  # ours: by then a process that was made has had its turn, or the machine is beyond help


def ask(path: str) -> int:
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
        said = "%.3f" % (time.monotonic() - began)
    except OSError as why:
        said = why.strerror or str(why)
    os.write(into, said.encode())
    os._exit(0)


def main() -> None:
    """Ask all, wait for none longer than the limit."""
    end = time.monotonic() + PATIENCE_S
    pipes = {ask(path): path for path in sys.argv[1:]}
    begun: Dict[str, float] = {}
    found: Dict[str, Any] = {}
    while len(found) < len(pipes) and time.monotonic() < end:
        waiting = [pipe for pipe, path in pipes.items() if path not in found]
        for pipe in select.select(waiting, [], [], 0.1)[0]:
            path, said = pipes[pipe], os.read(pipe, 1000).decode(errors="replace")
            begun.setdefault(path, time.monotonic())
            if said.strip():
                words = said.strip()
                found[path] = float(words) if words[0].isdigit() else words
            elif not said:
                found[path] = "ended without an answer"
        for path, since in begun.items():
            if time.monotonic() - since > LIMIT_S:
                found.setdefault(path, "no answer")
    json.dump({path: found.get(path, "not asked") for path in pipes.values()}, sys.stdout)
    sys.stdout.flush()
    os._exit(0)


main()
