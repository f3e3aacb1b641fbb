"""Run processes on this machine with a time limit, and kill them with their whole process group."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, cast

from clusterwright.edge.progress import OUTPUT
from clusterwright.i18n import _
from clusterwright.onhost.lib import processes
from clusterwright.onhost.lib.clean_text import clean, unfiltered
from clusterwright.units import human_size

LONGEST_LINE = 16 << 20  # bytes; the rest of a longer line counts as the next one
READER_POLL_MS = 500
TAIL_CHARACTERS, LINE_CHARACTERS = 1 << 16, 1000  # of an output, and of a line of it, for a message
ERRORS_S = 2.0  # for the last lines of stderr; a background process of ssh may hold it open


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command; `code` is 124 if it exceeded its time limit."""

    argv: tuple[str, ...]
    code: int
    out: str
    err: str
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether the command returned 0."""
        return self.code == 0

    def last_lines(self, count: int = 5) -> str:
        """Return the last lines of stderr, or of stdout if stderr is empty, for an error message."""
        text = (self.err.strip() or self.out.strip())[-TAIL_CHARACTERS:]
        return "\n".join(line[:LINE_CHARACTERS] for line in text.splitlines()[-count:])


def run(
    argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60, env: Mapping[str, str] | None = None
) -> CommandResult:
    """Run a command and return its result, also if it fails.

    One that exceeds the time limit or prints more than 64 MiB is killed with its process group. If it printed too much,
    `out` is empty, so that nobody parses a truncated output, and `err` has the reason.

    Raises:
        OSError: the program is missing or cannot be run.
    """
    started = time.monotonic()
    process = processes.start(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=None if env is None else dict(env),
        start_new_session=True,
    )
    try:
        result = processes.collect(process, timeout_s, stdin=stdin, on_output=OUTPUT.get())
    except BaseException:
        processes.kill_group(process)
        raise
    out, err = result.out, result.err
    if result.code == processes.TOO_LARGE and result.stopped:
        limit = human_size(processes.OUTPUT_BYTES)
        out, err = "", _("the program printed more than {limit} and was stopped", limit=limit)
    return CommandResult(tuple(argv), result.code, out, err, time.monotonic() - started)


def output(
    argv: Sequence[str],
    *,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
) -> bytes | None:
    """Run a command without a time limit and return its stdout; None if it is missing or fails."""
    try:
        result = subprocess.run(
            list(argv), cwd=cwd, env=env, capture_output=True, stdin=subprocess.DEVNULL, check=False
        )
    except OSError:
        return None
    return result.stdout if result.returncode == 0 else None


def start(argv: Sequence[str], *, out: IO[bytes]) -> int:
    """Start a program that outlives this process, with stdout and stderr written to the open file; return its pid."""
    process = subprocess.Popen(
        list(argv), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
    )
    process.returncode = 0  # we do not wait for it; prevents Python's warning about a running child
    return process.pid


class Output(io.RawIOBase):
    """The stdout of a program that reads a file, as a binary stream; closing it kills the program.

    `failed` is the message of the OSError that a read raises at the end if the program failed.
    """

    def __init__(self, argv: Sequence[str], stdin: IO[bytes], failed: str) -> None:
        self._failed = failed
        self._process = subprocess.Popen(
            list(argv), stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._printed = cast("IO[bytes]", self._process.stdout)

    def readable(self) -> bool:
        """Return True: the stream can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes of the program's output into the buffer; return their number.

        Raises:
            OSError: the program failed.
        """
        data = self._printed.read(len(buffer))
        if not data and self._process.wait():
            raise OSError(self._failed)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Kill the program, whose output nobody reads any more, and close the stream."""
        if not self.closed:
            self._process.kill()
            self._process.communicate()
        super().close()


def stream(
    argv: Sequence[str],
    *,
    stdin: bytes = b"",
    ignore_interrupts: bool = False,
    on_error: Callable[[bytes], None] | None = None,
) -> int:
    """Run a command, pass its output on with colors as its only escape sequences, and return its exit code.

    An interrupt terminates it first. With `ignore_interrupts` the command ignores Ctrl-C of the shared terminal,
    which only our handler receives.
    """
    return lines(
        argv, writer_to(sys.stdout), stdin=stdin, ignore_interrupts=ignore_interrupts, on_error=on_error
    )


def writer_to(stream: Any, layout: Callable[[str], str] = str) -> Callable[[bytes], None]:
    """Return a function that writes a cleaned line; to a terminal only the part after its last carriage return.

    Args:
        stream: a text stream.
        layout: wraps the line to the terminal.
    """
    into, overwrites = unfiltered(stream), stream.isatty()

    def write(line: bytes) -> None:
        text = line.decode(errors="replace").rstrip("\r\n")
        line_text = clean(text.rpartition("\r")[2] if overwrites else text, colors=True)
        into.write(layout(line_text) + "\n")
        into.flush()

    return write


def _terminate_without_reader(process: subprocess.Popen[bytes]) -> None:
    """Terminate the program once our stdout has lost its reader; a program that prints nothing would not notice."""
    poll = select.poll()
    with contextlib.suppress(OSError, ValueError):  # stdout has no descriptor, as in tests
        poll.register(sys.stdout.fileno(), 0)  # only error conditions, such as a closed pipe
        while process.poll() is None and not sys.stdout.isatty():
            if poll.poll(READER_POLL_MS):
                process.terminate()
                return


def lines(
    argv: Sequence[str],
    on_line: Callable[[bytes], None],
    *,
    stdin: bytes = b"",
    ignore_interrupts: bool = False,
    on_error: Callable[[bytes], None] | None = None,
) -> int:
    """Run a command, call `on_line` for each line of its stdout while it runs, and return its exit code.

    `on_error` gets the lines of its stderr; by default they are printed on ours. If this raises, the command ends.
    """
    with _ignoring_interrupts() if ignore_interrupts else contextlib.nullcontext():
        process = subprocess.Popen(
            list(argv), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    errors = threading.Thread(
        target=_pass_on, args=(process.stderr, on_error or writer_to(sys.stderr)), daemon=True
    )
    errors.start()
    threading.Thread(target=_terminate_without_reader, args=(process,), daemon=True).start()
    try:
        with contextlib.suppress(BrokenPipeError):  # its stderr and exit code have the reason
            process.stdin.write(stdin)  # type: ignore[union-attr]  # (a pipe, as asked above)
            process.stdin.close()  # type: ignore[union-attr]  # (same)
        _pass_on(process.stdout, on_line)
        process.wait()
        errors.join(ERRORS_S)
    except BaseException:
        process.terminate()
        process.wait()
        raise
    return process.returncode


def _pass_on(stream: IO[bytes] | None, on_line: Callable[[bytes], None]) -> None:
    with cast("IO[bytes]", stream) as pipe:
        for line in iter(functools.partial(pipe.readline, LONGEST_LINE), b""):
            on_line(line)


@contextlib.contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Make processes that are started in a `with` block ignore Ctrl-C (SIGINT) for their whole life (signal(7))."""
    previous_handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous_handler)
