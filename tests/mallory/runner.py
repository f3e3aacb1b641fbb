"""Run command lines of `wright` in forked processes: python runner.py LIMIT_S, a JSON list on stdin.

LIMIT_S is in seconds of processor time, so that other work on the machine does not count; a command that waits for
something is ended after PATIENCE times that.
"""

import json
import os
import signal
import sys
import tempfile
import time

PATIENCE = 5


def run(argv, limit_s):
    """Return exit code (124: over the limit), output and seconds of processor time of one command line."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            os.setsid()
            for stream, number in ((out, 1), (err, 2)):
                os.dup2(stream.fileno(), number)
            sys.argv = ["wright", *argv]
            try:
                main()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
        code, seconds = wait(child, limit_s)
        texts = [read(stream) for stream in (out, err)]
    return {
        "argv": argv,
        "code": code,
        "out": texts[0],
        "err": texts[1],
        "seconds": seconds,
    }


def wait(child, limit_s):
    """Return exit code and processor time; after the deadline, kill the process with its children."""
    deadline = time.monotonic() + PATIENCE * limit_s
    while time.monotonic() < deadline:
        ended, status, used = os.wait4(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    used = os.wait4(child, 0)[2]
    return 124, used.ru_utime + used.ru_stime


def read(stream):
    """The first megabytes of what a command has printed."""
    stream.seek(0)
    return stream.read(4 << 20).decode("utf-8", "surrogateescape")


if __name__ == "__main__":
    import clusterwright.cli._connection
    import clusterwright.config.load  # noqa: F401 (imported once for all command lines)
    from clusterwright.cli import main

    rows = [run(argv, float(sys.argv[1])) for argv in json.load(sys.stdin)]
    sys.stdout.write(json.dumps(rows))
