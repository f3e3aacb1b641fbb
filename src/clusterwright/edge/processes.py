"""Processes on this machine: started with a limit, ended with their whole group."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

TIMED_OUT = 124  # what coreutils' timeout returns


@dataclass(frozen=True, slots=True)
class Done:
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
) -> Done:
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
    return Done(tuple(argv), code, out.decode(errors="replace"), err.decode(errors="replace"), seconds)


def _kill(group: int) -> None:
    """All of the group, or nothing where the last of it has just gone."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def stream(argv: Sequence[str], *, stdin: bytes = b"", deaf: bool = False) -> int:
    """Run until it ends, with our own stdout and stderr; its exit code. An interrupt ends the command first.

    With `deaf`, the command hears no Ctrl-C of the terminal that it shares with us; our own handler does.
    """
    with _ignoring_interrupts() if deaf else contextlib.nullcontext():
        process = subprocess.Popen(list(argv), stdin=subprocess.PIPE)
    try:
        process.communicate(stdin)
    except BaseException:
        process.terminate()
        process.wait()
        raise
    return process.returncode


def lines(
    argv: Sequence[str], said: Callable[[bytes], None], *, stdin: bytes = b"", deaf: bool = False
) -> int:
    """Run until it ends, and pass each line of its stdout on; its exit code. As `stream` in all else."""
    with _ignoring_interrupts() if deaf else contextlib.nullcontext():
        process = subprocess.Popen(list(argv), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        with contextlib.suppress(BrokenPipeError):  # it says why, and its exit code does
            process.stdin.write(stdin)  # type: ignore[union-attr]  # (a pipe, as asked above)
            process.stdin.close()  # type: ignore[union-attr]  # (same)
        for line in process.stdout or ():
            said(line)
        process.wait()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    return process.returncode


@contextlib.contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """What is started meanwhile ignores them for good (signal(7))."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
