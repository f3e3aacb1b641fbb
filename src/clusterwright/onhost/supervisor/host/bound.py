"""Wrapper by which torchrun's ranks die with it: `python bound.py COMMAND...`.

torchrun starts each rank in a session of its own and leaves it running when it is killed itself (measured:
two ranks trained on for 15 s). The parent-death signal survives execve(2), so setting it first is enough. Run
by path and with -S, it imports next to nothing: 15 ms before Python with torch starts.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main() -> None:
    """Replace this process by the command of its arguments, which the kernel kills when the parent dies."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(128 + signal.SIGKILL)
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 (the command is the job's own, as a list)


if __name__ == "__main__":
    main()
