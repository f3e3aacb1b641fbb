"""Processes on this machine: started with a limit, ended with their whole group."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
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
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        code = TIMED_OUT
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    seconds = time.monotonic() - started
    return Done(tuple(argv), code, out.decode(errors="replace"), err.decode(errors="replace"), seconds)


def stream(argv: Sequence[str], *, stdin: bytes = b"") -> int:
    """Run until it ends, with our own stdout and stderr; its exit code. An interrupt ends the command first."""
    process = subprocess.Popen(list(argv), stdin=subprocess.PIPE)
    try:
        process.communicate(stdin)
    except BaseException:
        process.terminate()
        process.wait()
        raise
    return process.returncode
