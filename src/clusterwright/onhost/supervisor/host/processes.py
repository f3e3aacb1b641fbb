"""Processes that cannot outlive who started them (Linux prctl(2), kill(2))."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from typing import Container, Iterator, Mapping, Optional, Sequence, Tuple

from clusterwright.onhost.lib import processes

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


def name(text: str) -> None:
    """What `ps -o comm` and `top` call this process; 15 characters of it (proc(5))."""
    with open("/proc/self/comm", "w", encoding="ascii") as file:
        file.write(text[:15])


def start(
    argv: Sequence[str],
    env: Mapping[str, str],
    out: str,
    *,
    err: Optional[str] = None,
    cwd: Optional[str] = None,
    orders: bool = False,
) -> processes.Process:
    """Start in a session of its own, to die with us; what it says is appended to the files `out` and `err`.

    With `orders`, its stdin is a pipe.
    """
    parent = os.getpid()
    with open(out, "ab") as out_file, open(err or out, "ab") as complained:
        return processes.start(
            argv,
            env=dict(env),
            cwd=cwd,
            stdin=processes.PIPE if orders else processes.DEVNULL,
            stdout=out_file,
            stderr=complained,
            start_new_session=True,
            preexec_fn=lambda: die_with(parent),
        )


def descendants(root: int, *, excluded_pid: int = 0) -> list[int]:
    """Every living process below `root`, but `excluded_pid` and what is below it, from one reading of /proc.

    Blind to one born during the reading.
    """
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != excluded_pid:
            children.setdefault(_parent(int(name)), []).append(int(name))
    pids, open_ends = [], [root]
    while open_ends:
        below = children.get(open_ends.pop(), [])
        pids += below
        open_ends += below
    return pids


def end_descendants(limit_s: float, *, survivors: Container[int] = (), excluded_pid: int = 0) -> bool:
    """Kill everything below us, and wait for it; False when something is left (in D state nothing dies).

    `survivors` lives on, and `excluded_pid` with all of its own. What has died is left to `reap`.
    """
    deadline = time.monotonic() + limit_s
    while True:
        alive = [pid for pid in descendants(os.getpid(), excluded_pid=excluded_pid) if pid not in survivors]
        if not alive or time.monotonic() > deadline:
            return not alive
        for pid in alive:
            signal_process(pid, signal.SIGKILL)
        time.sleep(0.005)  # a killed process needs a moment


def reap() -> Iterator[Tuple[int, int]]:
    """Every child that has ended, and how: its exit code, or the signal that killed it as a negative number."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def signal_process(pid: int, number: int) -> None:
    """Send a signal; a process that is already gone is as wanted."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _parent(pid: int) -> int:
    """The parent of a process; 0 for one that is gone or only waits to be reaped."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, parent = file.read().rpartition(b")")[2].split()[:2]  # proc(5): after the name in brackets
    except (OSError, ValueError):
        return 0
    return 0 if state == b"Z" else int(parent)


def _prctl(option: int, value: int) -> None:
    if _LIBC.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option})")
