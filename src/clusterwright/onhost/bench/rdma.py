"""One end of a pair on all its rails at once: perftest's programs and ibping, with the output of each.

Input: `role`. `ports` reports the RDMA ports (by the given `probe`) and the available measurements; `server` starts
the server of every test of every rail, until the client closes its control connection; `client` runs the tests in
sequence, the rails concurrently. Prints one JSON object. Standard library, Python 3.8 or later.
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

CONNECT_TIMEOUT_S = 15.0  # the server may start this much later
HELP_S = 15.0
PARTING_S = 2.0  # until servers are killed: a perftest server ends with its client, an ibping server never
# perftest's errors while the server does not listen yet
CONNECT_ERRORS = ("Couldn't connect to", "Unable to open file descriptor for socket connection")
MAX_OUTPUT = (
    6000  # characters of a program's output: with CUDA its header has a line for each GPU of the host
)

Json = Dict[str, Any]


def main() -> int:
    """Run the role that the options on stdin request (ports, server or client), print its result as JSON; return 0."""
    options = json.load(sys.stdin)
    roles = {"ports": ports, "server": server, "client": client}
    json.dump(roles[options["role"]](options), sys.stdout)
    return 0


def ports(options: Json) -> Json:
    """Return the output of the probe of RDMA ports, whether perftest supports CUDA, and whether ibping may send."""
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
    """Run a program and return its output with stderr; "" if it is missing, or was stopped after HELP_S.

    Its exit code is ignored, because perftest's help exits with 1.
    """
    result = processes.run(argv, HELP_S, merge=True)
    return "" if result.stopped else result.out


def server(options: Json) -> Json:
    """Start the perftest server of every test on all rails, wait for the client to finish, and return their outputs.

    They are by test, in a list by rail.
    """
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
    """A running program with its output in a file, because a full pipe would block it."""

    def __init__(self, argv: List[str]) -> None:
        """Start the program; if it is missing, its output is the error."""
        self.out = tempfile.TemporaryFile()  # noqa: SIM115 (it is gone with this process)
        self.process = None  # type: Any
        try:
            self.process = processes.start(argv, stdout=self.out, stderr=processes.STDOUT)
        except OSError as error:
            self.out.write(str(error).encode())

    def output(self) -> str:
        """Return the last MAX_OUTPUT characters that the program has printed so far."""
        self.out.seek(0)
        return self.out.read().decode(errors="replace")[-MAX_OUTPUT:]


def ended(running: Running, limit_s: float) -> Json:
    """Wait for a program; return exit code and output; kill it after the limit (code 124). 127: it never started."""
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
    """Run all tests as the client, those of a rail in sequence, and return their results by rail.

    Closing the control connection at the end ends the server.
    """
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
    """Run the tests of one rail in sequence and store their results by name."""
    for test in tests:
        results[test["name"]] = run_test(test["client"], options["test_s"])


def run_test(argv: List[str], limit_s: float) -> Json:
    """Run the perftest client of one test for at most `limit_s`, and return its exit code and output.

    It is retried for CONNECT_TIMEOUT_S while its server does not listen yet.
    """
    deadline = time.monotonic() + CONNECT_TIMEOUT_S
    while True:
        result = ended(Running(argv), limit_s)
        early = any(message in result["out"] for message in CONNECT_ERRORS)
        if not early or time.monotonic() > deadline:
            return result
        time.sleep(0.2)


def connected(options: Json) -> socket.socket:
    """Connect to the server's control port, retrying until it listens; return the connection."""
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
