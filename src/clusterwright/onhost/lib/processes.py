"""Programs that a host runs: started in one way, ended with all that they have started.

Standard library only, Python 3.6 or later.
"""

import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

TIMED_OUT = 124  # what coreutils' timeout returns
TOO_MUCH = 125
NOT_STARTED = 127  # what a shell returns
OUTPUT_BYTES = 64 << 20  # of both streams together
KILL_S = 2.0  # a killed process that is still there after it hangs in the kernel

DEVNULL, PIPE, STDOUT = subprocess.DEVNULL, subprocess.PIPE, subprocess.STDOUT
TimeoutExpired = subprocess.TimeoutExpired
if sys.version_info >= (3, 9):
    Process = subprocess.Popen[bytes]
else:
    Process = subprocess.Popen


class Result(NamedTuple):
    """How a program ended; `stopped` says why it could not run to its end."""

    code: int
    out: str
    err: str
    stopped: str = ""

    @property
    def ok(self) -> bool:
        """True when it returned 0."""
        return self.code == 0

    @property
    def reason(self) -> str:
        """What stopped it, or the last line of what it printed."""
        lines = (self.err.strip() or self.out.strip()).splitlines()
        return self.stopped or (lines[-1] if lines else "exit code %d" % self.code)


def run(
    argv: Sequence[str],
    timeout_s: Optional[float] = None,
    *,
    stdin: bytes = b"",
    env: Optional[Mapping[str, str]] = None,
    merge: bool = False,
    limit: int = OUTPUT_BYTES,
) -> Result:
    """Run a program to its end, to its time limit or to its output limit; then its whole process group is killed.

    With `merge`, stderr comes in `out`. A program that is missing has code 127, as in a shell.
    """
    try:
        err = STDOUT if merge else PIPE
        process = start(argv, stdin=PIPE if stdin else DEVNULL, stdout=PIPE, stderr=err, env=env)
    except OSError as why:
        return Result(NOT_STARTED, "", "", "%s: %s" % (argv[0], why.strerror or why))
    try:
        return collect(process, timeout_s, stdin=stdin, limit=limit)
    except BaseException:
        kill_group(process)
        raise


def start(argv: Sequence[str], **options: Any) -> Process:
    """Start a program that runs beside us: in a session of its own, without our stdin, unless the options differ.

    Raises:
        OSError: it is not there, or cannot be run.
    """
    options.setdefault("stdin", DEVNULL)
    options.setdefault("start_new_session", True)
    return subprocess.Popen(list(argv), **options)


def collect(
    process: Process, timeout_s: Optional[float] = None, *, stdin: bytes = b"", limit: int = OUTPUT_BYTES
) -> Result:
    """Read what a program prints until it has ended; one that overruns a limit is killed with its process group."""
    end = float("inf") if timeout_s is None else time.monotonic() + timeout_s
    if process.stdin:
        threading.Thread(target=_feed, args=(process, stdin), daemon=True).start()
    parts = {pipe: [] for pipe in (process.stdout, process.stderr) if pipe}  # type: Dict[Any, List[bytes]]
    stopped, code = "", 0
    try:
        _read(parts, end, limit)
        code = process.wait(_left(end))
    except subprocess.TimeoutExpired:
        stopped, code = "timed out after %g s" % (timeout_s or 0), TIMED_OUT
    except OverflowError:
        stopped, code = "printed more than %d bytes" % limit, TOO_MUCH
    if stopped and not kill_group(process):
        stopped += ", and still was there %g s after it was killed" % KILL_S
    out, err = (b"".join(parts.get(pipe, ()))[:limit] for pipe in (process.stdout, process.stderr))
    for pipe in parts:
        pipe.close()
    return Result(code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), stopped)


def kill_group(process: Process) -> bool:
    """End a program and all that it has started; False when it is still there soon after (stuck in the kernel)."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    try:
        process.wait(KILL_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def _feed(process: Process, data: bytes) -> None:
    pipe, rest = process.stdin, memoryview(data)  # type: Any, memoryview
    try:
        while rest:
            rest = rest[os.write(pipe.fileno(), rest) :]
    except OSError:
        pass  # it ended without reading all of it, which is its right
    finally:
        pipe.close()


def _read(parts: Dict[Any, List[bytes]], end: float, limit: int) -> None:
    """Fill the parts until all pipes are closed."""
    size = 0
    with selectors.DefaultSelector() as selector:
        for pipe in parts:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(_left(end)):
                data = os.read(key.fd, 65536)
                parts[key.fileobj].append(data)
                size += len(data)
                if not data:
                    selector.unregister(key.fileobj)
            if size > limit:
                raise OverflowError
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired([], 0)


def _left(end: float) -> Optional[float]:
    """Seconds until then; None for no limit."""
    return None if end == float("inf") else max(0.01, end - time.monotonic())
