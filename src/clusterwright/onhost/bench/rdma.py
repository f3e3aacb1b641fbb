"""One end of a pair on all its rails at once: perftest's programs and ibping, and what each of them printed.

Given `role`: `ports` says which RDMA ports there are (by the `probe` that it is given) and what can be measured;
`server` has every test of every rail wait for its client, until the client says over a connection of its own that
it is done; `client` runs them one after the other, the rails at the same time. Prints one JSON object.
Standard library, Python 3.8 or later.
"""

import glob
import json
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
from typing import Any, Dict, List

from clusterwright.onhost.lib import processes

CONNECT_TIMEOUT_S = 15.0  # the other end may begin so much later
HELP_S = 15.0
PARTING_S = 2.0  # a server of perftest ends together with its client, one of ibping never
# what perftest says when the server is not there yet
CONNECT_ERRORS = ("Couldn't connect to", "Unable to open file descriptor for socket connection")
MAX_OUTPUT = (
    6000  # characters of what a program prints: with a GPU its heading has a line for each GPU of the host
)

Json = Dict[str, Any]


def main() -> int:
    """By its role."""
    options = json.load(sys.stdin)
    roles = {"ports": ports, "server": server, "client": client}
    json.dump(roles[options["role"]](options), sys.stdout)
    return 0


def ports(options: Json) -> Json:
    """The ports, as the check of them reads them; whether perftest knows CUDA; whether ibping may send."""
    argv = [sys.executable, "-I", "-S", "-c", options["probe"]]
    result = processes.run(argv)
    if not result.ok:
        sys.exit(result.reason)
    umads = glob.glob("/dev/infiniband/umad*")
    return {
        "ports": result.out,
        "cuda": "--use_cuda" in printed(["ib_write_bw", "--help"]),
        "ibping": bool(umads) and os.access(umads[0], os.R_OK | os.W_OK) and bool(shutil.which("ibping")),
    }


def printed(argv: List[str]) -> str:
    """All of it; nothing where there is no such program. perftest's help ends with 1."""
    result = processes.run(argv, HELP_S, merge=True)
    return "" if result.stopped else result.out


def server(options: Json) -> Json:
    """Every test of every rail waits; what each had printed when the client was done."""
    with socket.create_server((options["address"], options["port"])) as listening:
        running = [[Running(test["server"]) for test in rail] for rail in options["rails"]]
        try:
            listening.settimeout(CONNECT_TIMEOUT_S)
            connection = listening.accept()[0]
            with connection:
                connection.settimeout(options["limit_s"])
                connection.recv(1)
        finally:
            deadline = time.monotonic() + PARTING_S
            outputs = [[ended(program, deadline - time.monotonic()) for program in rail] for rail in running]
    names = [[test["name"] for test in rail] for rail in options["rails"]]
    return {"rails": [dict(zip(*pair)) for pair in zip(names, outputs)]}


class Running:
    """A program, and the file that it prints to: a pipe that nobody reads would stop it."""

    def __init__(self, argv: List[str]) -> None:
        """Under way; a program that is not there prints so."""
        self.out = tempfile.TemporaryFile()  # noqa: SIM115 (it is gone with this process)
        self.process = None  # type: Any
        try:
            self.process = processes.start(argv, stdout=self.out, stderr=processes.STDOUT)
        except OSError as error:
            self.out.write(str(error).encode())

    def output(self) -> str:
        """So far."""
        self.out.seek(0)
        return self.out.read().decode(errors="replace")[-MAX_OUTPUT:]


def ended(running: Running, limit_s: float) -> Json:
    """How it ended and what it printed; it is ended where it goes on beyond the limit."""
    if running.process is None:
        return {"code": 127, "out": running.output()}
    try:
        code = running.process.wait(max(0.05, limit_s))
    except processes.TimeoutExpired:
        running.process.kill()
        running.process.wait()
        code = 124
    return {"code": code, "out": running.output()}


def client(options: Json) -> Json:
    """All tests of each rail, one after the other; the server is told by the end of the connection."""
    with connected(options):
        results = [{} for _ in options["rails"]]  # type: List[Json]
        threads = [
            threading.Thread(target=rail, args=(options, tests, results[index]))
            for index, tests in enumerate(options["rails"])
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return {"rails": results}


def rail(options: Json, tests: List[Json], results: Json) -> None:
    """Its tests."""
    for test in tests:
        results[test["name"]] = run_test(test["client"], options["test_s"])


def run_test(argv: List[str], limit_s: float) -> Json:
    """One test; again while the server's program is not there yet."""
    deadline = time.monotonic() + CONNECT_TIMEOUT_S
    while True:
        result = ended(Running(argv), limit_s)
        early = any(message in result["out"] for message in CONNECT_ERRORS)
        if not early or time.monotonic() > deadline:
            return result
        time.sleep(0.2)


def connected(options: Json) -> socket.socket:
    """A connection to the server, as soon as it is there."""
    deadline = time.monotonic() + CONNECT_TIMEOUT_S
    while True:
        try:
            return socket.create_connection((options["address"], options["port"]), CONNECT_TIMEOUT_S)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main())
