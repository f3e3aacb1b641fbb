"""What the processes of a host tell their agent: JSON lines through one pipe of the agent's.

The pipe is found as a path, /proc/AGENT/fd/N, so that it needs not be inherited. A line is shorter than PIPE_BUF
(4096 bytes on Linux), so that lines of several writers never mix (pipe(7)).
"""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Tuple

VARIABLE = "CLUSTERWRIGHT_WAKE"
LONGEST = 4000  # bytes of a line, below PIPE_BUF


def send(**fields: Any) -> None:
    """Tell the agent; without one, nobody is told."""
    path = os.environ.get(VARIABLE)
    if not path:
        return
    data = json.dumps(fields).encode()
    if len(data) >= LONGEST:
        raise ValueError(f"{len(data)} bytes are too long for a line: {data[:80]!r}")
    try:
        pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # the agent is gone, and this process will be in a moment
        return
    try:
        os.write(pipe, data + b"\n")
    except BlockingIOError:  # 64 KiB that the agent has not read yet: it is busy ending us
        return
    finally:
        os.close(pipe)


class Pipe:
    """The agent's end."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        self._partial = b""

    def fileno(self) -> int:
        """For selectors."""
        return self._read

    def variable(self) -> Tuple[str, str]:
        """Name and value of the variable by which others find it."""
        return VARIABLE, f"/proc/{os.getpid()}/fd/{self._write}"

    def read(self) -> List[Dict[str, Any]]:
        """What has been told since the last time."""
        try:
            data = os.read(self._read, 1 << 16)
        except BlockingIOError:
            return []
        *lines, self._partial = (self._partial + data).split(b"\n")
        return [json.loads(line) for line in lines]
