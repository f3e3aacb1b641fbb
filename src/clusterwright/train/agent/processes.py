"""Processes that cannot outlive who started them (Linux prctl(2), kill(2))."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from typing import Mapping, Optional, Sequence

PR_SET_PDEATHSIG = 1  # linux/prctl.h
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h

_LIBC = ctypes.CDLL(None, use_errno=True)


def adopt_orphans() -> None:
    """What our descendants leave behind becomes our child, so that `end_descendants` finds it."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with(parent: int) -> None:
    """The kernel kills this process when its parent dies; a parent that is already gone counts."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def start(
    argv: Sequence[str], env: Mapping[str, str], log: str, *, cwd: Optional[str] = None, orders: bool = False
) -> subprocess.Popen[bytes]:
    """Start in a session of its own, to die with us; what it says is appended to the file `log`.

    With `orders`, its stdin is a pipe for the one line that it waits for.
    """
    parent = os.getpid()
    with open(log, "ab") as out:
        return subprocess.Popen(  # noqa: S603 (starting the job's command is what an agent is for)
            list(argv),
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.PIPE if orders else subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: die_with(parent),  # noqa: PLW1509 (one thread; PDEATHSIG has no other door)
        )


def descendants(of: int) -> list[int]:
    """Every process below `of`, from one reading of /proc; blind to one born during the reading."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            children.setdefault(_parent(int(name)), []).append(int(name))
    found, open_ends = [], [of]
    while open_ends:
        below = children.get(open_ends.pop(), [])
        found += below
        open_ends += below
    return found


def end_descendants(limit_s: float, *, keep: int = 0) -> bool:
    """Kill and reap everything below us but `keep`; False when something is left (in D state nothing dies)."""
    until = time.monotonic() + limit_s
    while True:
        reap()
        left = [pid for pid in descendants(os.getpid()) if pid != keep]
        if not left or time.monotonic() > until:
            return not left
        for pid in left:
            signal_process(pid, signal.SIGKILL)
        time.sleep(0.02)  # a killed process needs a moment; 50 readings of /proc a second cost 2 % of a core


def reap() -> None:
    """Collect every child that has ended."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return


def signal_process(pid: int, number: int) -> None:
    """Send a signal; a process that is already gone is as wanted."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(
                file.read().rpartition(b")")[2].split()[1]
            )  # proc(5): field 4, after the name in brackets
    except (OSError, IndexError):
        return 0


def _prctl(option: int, value: int) -> None:
    if _LIBC.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option})")
