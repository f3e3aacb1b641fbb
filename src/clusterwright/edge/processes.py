"""Run processes on this machine with a time limit, and kill them with their whole process group."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, cast

TIMED_OUT = 124  # what coreutils' timeout returns


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
        """The last lines of stderr, or of stdout if stderr is empty, for an error message."""
        text = self.err.strip() or self.out.strip()
        return "\n".join(text.splitlines()[-count:])


def run(
    argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60, env: Mapping[str, str] | None = None
) -> CommandResult:
    """Run a command; one that exceeds the time limit is killed with its children."""
    started = time.monotonic()
    process = subprocess.Popen(
        list(argv),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=None if env is None else dict(env),
        start_new_session=True,
    )
    try:
        out, err = process.communicate(stdin, timeout=timeout_s)
        code = process.returncode
    except subprocess.TimeoutExpired:
        _kill(process.pid)
        out, err = process.communicate()
        code = TIMED_OUT
    except BaseException:
        _kill(process.pid)
        process.wait()
        raise
    seconds = time.monotonic() - started
    return CommandResult(
        tuple(argv), code, out.decode(errors="replace"), err.decode(errors="replace"), seconds
    )


def output(argv: Sequence[str], *, cwd: str | os.PathLike[str] | None = None) -> bytes | None:
    """The stdout of a command; None if it is missing or fails."""
    try:
        result = subprocess.run(
            list(argv), cwd=cwd, capture_output=True, stdin=subprocess.DEVNULL, check=False
        )
    except OSError:
        return None
    return result.stdout if result.returncode == 0 else None


def start(argv: Sequence[str], *, out: IO[bytes]) -> int:
    """Start a program that outlives this process, with its output in a file; return its process id."""
    process = subprocess.Popen(
        list(argv), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
    )
    process.returncode = 0  # we do not wait for it; prevents Python's warning about a running child
    return process.pid


class Output(io.RawIOBase):
    """The stdout of a program as a stream; closing it kills the program. `failed` is the message of its OSError."""

    def __init__(self, argv: Sequence[str], failed: str) -> None:
        self._failed = failed
        self._process = subprocess.Popen(
            list(argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._printed = cast("IO[bytes]", self._process.stdout)

    def readable(self) -> bool:
        """Always True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes.

        Raises:
            OSError: the program failed.
        """
        data = self._printed.read(len(buffer))
        if not data and self._process.wait():
            raise OSError(self._failed)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Kill the program."""
        if not self.closed:
            self._process.kill()
            self._process.communicate()
        super().close()


def _kill(group: int) -> None:
    """Kill a process group, if it still exists."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def stream(argv: Sequence[str], *, stdin: bytes = b"", ignore_interrupts: bool = False) -> int:
    """Run a command with our stdout and stderr and return its exit code; an interrupt terminates it first.

    With `ignore_interrupts` the command ignores Ctrl-C of the shared terminal, which only our handler receives.
    """
    with _ignoring_interrupts() if ignore_interrupts else contextlib.nullcontext():
        process = subprocess.Popen(list(argv), stdin=subprocess.PIPE)
    try:
        process.communicate(stdin)
    except BaseException:
        process.terminate()
        process.wait()
        raise
    return process.returncode


def lines(
    argv: Sequence[str],
    on_line: Callable[[bytes], None],
    *,
    stdin: bytes = b"",
    ignore_interrupts: bool = False,
) -> int:
    """Run a command, call `on_line` for each line of its stdout, and return its exit code; otherwise like `stream`."""
    with _ignoring_interrupts() if ignore_interrupts else contextlib.nullcontext():
        process = subprocess.Popen(list(argv), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        with contextlib.suppress(BrokenPipeError):  # its stderr and exit code have the reason
            process.stdin.write(stdin)  # type: ignore[union-attr]  # (a pipe, as asked above)
            process.stdin.close()  # type: ignore[union-attr]  # (same)
        for line in process.stdout or ():
            on_line(line)
        process.wait()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    return process.returncode


@contextlib.contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Processes started in this context ignore SIGINT for their whole life (signal(7))."""
    previous_handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous_handler)
