"""Run command lines of `wright` in forked processes: python runner.py LIMIT_S, a JSON list on stdin."""

import json
import os
import signal
import sys
import tempfile
import time


def run(argv, limit_s):
    """Return exit code (124: over the limit), output and seconds of one command line."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.monotonic()
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
        code = wait(child, started + limit_s)
        texts = [read(stream) for stream in (out, err)]
    return {
        "argv": argv,
        "code": code,
        "out": texts[0],
        "err": texts[1],
        "seconds": time.monotonic() - started,
    }


def wait(child, deadline):
    """Return the exit code; after the deadline, kill the process with its children."""
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 124


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
