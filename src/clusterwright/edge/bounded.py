"""Run a program with limits of time and of output, of which the first and the last bytes remain."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_CHUNK = 1 << 16


@dataclass(slots=True)
class BoundedText:
    """The first and the last bytes of a stream; what lies between is counted."""

    head_bytes: int
    tail_bytes: int
    size: int = 0
    _head: bytearray = field(default_factory=bytearray)
    _tail: bytearray = field(default_factory=bytearray)

    def add(self, data: bytes) -> None:
        """Add the next bytes of the stream; between the first and the last ones, bytes are counted and dropped."""
        self.size += len(data)
        free = self.head_bytes - len(self._head)
        self._head += data[:free]
        self._tail += data[free:]
        del self._tail[: -self.tail_bytes]

    def parts(self) -> tuple[str, int, str]:
        """Return the beginning, the number of bytes left out, and the end."""
        left_out = self.size - len(self._head) - len(self._tail)
        if not left_out:
            return (self._head + self._tail).decode(errors="replace"), 0, ""
        return self._head.decode(errors="replace"), left_out, self._tail.decode(errors="replace")


@dataclass(frozen=True, slots=True)
class BoundedResult:
    """How a program ended: its exit code, None if it exceeded the time limit, and its output."""

    code: int | None
    out: BoundedText
    err: BoundedText


async def run_bounded(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout_s: float,
    head_bytes: int,
    tail_bytes: int,
) -> BoundedResult:
    """Run a program without stdin; retain only the first `head_bytes` and last `tail_bytes` of each output.

    At the time limit, and if the caller is canceled, it is killed with its process group; its exit code is then None.
    """
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=cwd,
        env=dict(env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    out, err = BoundedText(head_bytes, tail_bytes), BoundedText(head_bytes, tail_bytes)
    code = None
    try:
        async with asyncio.timeout(timeout_s):
            await asyncio.gather(_read(process.stdout, out), _read(process.stderr, err))
            code = await process.wait()
    except TimeoutError:
        pass
    finally:
        if code is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    return BoundedResult(code, out, err)


async def _read(stream: asyncio.StreamReader | None, into: BoundedText) -> None:
    while stream and (data := await stream.read(_CHUNK)):
        into.add(data)
