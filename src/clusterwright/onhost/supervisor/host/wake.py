"""Messages from the processes of a host to their agent: JSON lines through one pipe.

A process opens the pipe by its path, /proc/AGENT/fd/N, so it need not be inherited. A line is shorter than
PIPE_BUF (4096 bytes on Linux), so lines of several writers never mix (pipe(7)).
"""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Tuple

VARIABLE = "CLUSTERWRIGHT_WAKE"
LONGEST = 4000  # bytes of a line, below PIPE_BUF


def send(**fields: Any) -> None:
    """Send a message to the agent of this process; without an agent, or if it has ended, do nothing.

    Lost if the agent has 64 KiB unread.

    Raises:
        ValueError: the message is too long for a line.
    """
    path = os.environ.get(VARIABLE)
    if not path:
        return
    data = json.dumps(fields).encode()
    if len(data) >= LONGEST:
        raise ValueError(f"{len(data)} bytes are too long for a line: {data[:80]!r}")
    try:
        pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # the agent has ended, and this process soon will
        return
    try:
        os.write(pipe, data + b"\n")
    except BlockingIOError:  # the agent has 64 KiB unread: it is killing this process
        return
    finally:
        os.close(pipe)


class Pipe:
    """The agent's end of the pipe through which processes of its host send it messages."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        self._partial = b""

    def fileno(self) -> int:
        """Return the file descriptor of the pipe's read end, for selectors."""
        return self._read

    def variable(self) -> Tuple[str, str]:
        """Return name and value of the environment variable by which other processes find the pipe."""
        return VARIABLE, f"/proc/{os.getpid()}/fd/{self._write}"

    def read(self) -> List[Dict[str, Any]]:
        """Return the complete messages that have arrived since the last call; none if there are none."""
        try:
            data = os.read(self._read, 1 << 16)
        except BlockingIOError:
            return []
        *lines, self._partial = (self._partial + data).split(b"\n")
        return [json.loads(line) for line in lines]
