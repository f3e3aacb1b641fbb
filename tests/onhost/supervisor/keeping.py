"""A training that looks at nothing and keeps two workers and a port, as scripts written for other launchers do.

With KEEPING_DEAF it does not heed SIGTERM either.
"""

import json
import multiprocessing
import os
import signal
import socket
import time
from pathlib import Path

RUN, RANK = Path(os.environ["CLUSTERWRIGHT_RUN"]), int(os.environ["RANK"])
COMMON = {"rank": RANK, "pid": os.getpid(), "generation": int(os.environ["CLUSTERWRIGHT_GENERATION"])}


def event(kind, **more):
    """One line, as the runtime writes it."""
    with (RUN / "events" / f"rank-{RANK}-{os.getpid()}.jsonl").open("a") as file:
        file.write(json.dumps({"time": time.time(), "event": kind, **COMMON, **more}) + "\n")


def main():
    """Step after step."""
    if "KEEPING_DEAF" in os.environ:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    fork = multiprocessing.get_context("fork")
    workers = [fork.Process(target=time.sleep, args=(600,), daemon=True) for _ in range(2)]
    for worker in workers:
        worker.start()
    listening = socket.create_server(("127.0.0.1", 0))
    event("resumed", workers=[worker.pid for worker in workers], port=listening.getsockname()[1])
    for step in range(1, 100_000):
        time.sleep(0.02)
        event("step", step=step)


if __name__ == "__main__":
    main()
