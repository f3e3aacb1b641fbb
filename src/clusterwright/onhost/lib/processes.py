"""Run programs on a host; a program that exceeds a limit is killed with its process group.

Standard library only, Python 3.6 or later.
"""

import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence

TIMED_OUT = 124  # what coreutils' timeout returns
TOO_LARGE = 125
NOT_STARTED = 127  # what a shell returns
OUTPUT_BYTES = 64 << 20  # limit for both streams together
# A program for `python -c` begins with it if -I and -P cannot be set: without the current folder's modules.
NOT_HERE = "import sys; sys.path[:] = [p for p in sys.path if p]"
KILL_S = 2.0  # a killed process that still exists after this hangs in the kernel

DEVNULL, PIPE, STDOUT = subprocess.DEVNULL, subprocess.PIPE, subprocess.STDOUT
TimeoutExpired = subprocess.TimeoutExpired
if sys.version_info >= (3, 9):
    Process = subprocess.Popen[bytes]
else:
    Process = subprocess.Popen


class Result(NamedTuple):
    """How a program ended; `stopped` is why it did not complete: `overran`, too much output, or a failed start."""

    code: int
    out: str
    err: str
    stopped: str = ""
    survived: bool = False  # it was killed but still exists, stuck in the kernel

    @property
    def ok(self) -> bool:
        """Return True if the program's exit code is 0."""
        return self.code == 0

    @property
    def reason(self) -> str:
        """Return why the program was stopped, else the last line of its stderr or stdout, else its exit code."""
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
    """Run a program and return its result, also if it fails or is missing (code 127, as in a shell).

    After its time or output limit its whole process group is killed; the result names the limit. Without a time limit
    it stays in this process group and ends with it. With `merge`, `out` includes stderr.
    """
    options = {"env": env, "stdin": PIPE if stdin else DEVNULL, "stderr": STDOUT if merge else PIPE}
    try:
        process = start(argv, stdout=PIPE, start_new_session=timeout_s is not None, **options)
    except OSError as error:
        return Result(NOT_STARTED, "", "", error.strerror or str(error))
    try:
        return collect(process, timeout_s, stdin=stdin, limit=limit)
    except BaseException:
        kill_group(process)
        raise


def start(argv: Sequence[str], **options: Any) -> Process:
    """Start and return a program in the background, without stdin unless the options (of Popen) set it.

    Raises:
        OSError: the program is missing or cannot be run.
    """
    options.setdefault("stdin", DEVNULL)
    return subprocess.Popen(list(argv), **options)


def collect(
    process: Process,
    timeout_s: Optional[float] = None,
    *,
    stdin: bytes = b"",
    limit: int = OUTPUT_BYTES,
    on_output: Optional[Callable[[bytes], None]] = None,
) -> Result:
    """Read a started program's output until it ends, and return its result.

    At the limit of time (seconds) or output (bytes) its process group is killed, and the result names the limit.
    `on_output`
    is called with each chunk of its stdout at once.
    """
    end = float("inf") if timeout_s is None else time.monotonic() + timeout_s
    if process.stdin:
        threading.Thread(target=_feed, args=(process, stdin), daemon=True).start()
    parts = {pipe: [] for pipe in (process.stdout, process.stderr) if pipe}  # type: Dict[Any, List[bytes]]
    stopped, code = "", 0
    try:
        _read(parts, end, limit, {process.stdout: on_output} if on_output else {})
        code = process.wait(_remaining_s(end))
    except subprocess.TimeoutExpired:
        stopped, code = "overran", TIMED_OUT
    except OverflowError:
        stopped, code = "printed too much", TOO_LARGE
    survived = bool(stopped) and not kill_group(process)
    out, err = (b"".join(parts.get(pipe, ()))[:limit] for pipe in (process.stdout, process.stderr))
    for pipe in parts:
        pipe.close()
    texts = out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
    return Result(code, *texts, stopped=stopped, survived=survived)


def kill_group(process: Process) -> bool:
    """Kill a program and its process group; return False if it still exists after KILL_S (stuck in the kernel).

    A program in this process's own group is killed alone.
    """
    try:
        if os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except ProcessLookupError:
        pass
    try:
        process.wait(KILL_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def _feed(process: Process, data: bytes) -> None:
    pipe, pending = process.stdin, memoryview(data)  # type: Any, memoryview
    try:
        while pending:
            pending = pending[os.write(pipe.fileno(), pending) :]
    except OSError:
        pass  # it ended without reading all input, which is no error
    finally:
        pipe.close()


def _read(
    parts: Dict[Any, List[bytes]], end: float, limit: int, readers: Mapping[Any, Callable[[bytes], None]]
) -> None:
    """Read all pipes into `parts` until they are closed; pass each chunk to the pipe's reader, if it has one.

    Raises:
        OverflowError: more than `limit` bytes in all.
        TimeoutExpired: `end` is over.
    """
    size = 0
    with selectors.DefaultSelector() as selector:
        for pipe in parts:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(_remaining_s(end)):
                data = os.read(key.fd, 65536)
                parts[key.fileobj].append(data)
                if key.fileobj in readers:
                    readers[key.fileobj](data)
                size += len(data)
                if not data:
                    selector.unregister(key.fileobj)
            if size > limit:
                raise OverflowError
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired([], 0)


def _remaining_s(end: float) -> Optional[float]:
    """Return the seconds until `end`; None without a limit."""
    return None if end == float("inf") else max(0.01, end - time.monotonic())
