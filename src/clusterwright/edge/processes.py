"""Processes on this machine: started with a limit, ended with their whole group."""

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
    """How a command ended; `code` is 124 when it overran its limit."""

    argv: tuple[str, ...]
    code: int
    out: str
    err: str
    seconds: float

    @property
    def ok(self) -> bool:
        """True when the command returned 0."""
        return self.code == 0

    def last_lines(self, count: int = 5) -> str:
        """The end of what it said, for an error message."""
        text = self.err.strip() or self.out.strip()
        return "\n".join(text.splitlines()[-count:])


def run(
    argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60, env: Mapping[str, str] | None = None
) -> CommandResult:
    """Run to the end or to the limit; a command that overruns is killed with its children."""
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
    """What a program printed; None where it is not there or fails."""
    try:
        result = subprocess.run(
            list(argv), cwd=cwd, capture_output=True, stdin=subprocess.DEVNULL, check=False
        )
    except OSError:
        return None
    return result.stdout if result.returncode == 0 else None


def start(argv: Sequence[str], *, out: IO[bytes]) -> int:
    """Start a program that outlives us, with its output in a file; its process id."""
    process = subprocess.Popen(
        list(argv), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
    )
    process.returncode = 0  # not ours to wait for; keeps Python from warning that a child still runs
    return process.pid


class Output(io.RawIOBase):
    """What a program prints, as a stream; closing it ends the program. `failed` is the error where it fails."""

    def __init__(self, argv: Sequence[str], failed: str) -> None:
        self._failed = failed
        self._process = subprocess.Popen(
            list(argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._printed = cast("IO[bytes]", self._process.stdout)

    def readable(self) -> bool:
        """True, as of any stream that is read."""
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
        """End the program."""
        if not self.closed:
            self._process.kill()
            self._process.communicate()
        super().close()


def _kill(group: int) -> None:
    """All of the group, or nothing where the last of it has just gone."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def stream(argv: Sequence[str], *, stdin: bytes = b"", ignore_interrupts: bool = False) -> int:
    """Run until it ends, with our own stdout and stderr; its exit code. An interrupt ends the command first.

    With `ignore_interrupts`, the command hears no Ctrl-C of the terminal that it shares with us; our own handler does.
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
    """Run until it ends, and pass each line of its stdout on; its exit code. As `stream` in all else."""
    with _ignoring_interrupts() if ignore_interrupts else contextlib.nullcontext():
        process = subprocess.Popen(list(argv), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        with contextlib.suppress(BrokenPipeError):  # it says why, and its exit code does
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
    """What is started meanwhile ignores them for good (signal(7))."""
    previous_handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous_handler)
