"""Processes that die with their parent (Linux prctl(2), kill(2))."""

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
    """Make this process the parent of its orphaned descendants, so that `end_descendants` finds them."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with(parent: int) -> None:
    """Make the kernel kill this process when its parent dies, also if the parent is dead already."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def name(text: str) -> None:
    """Set the name of this process that `ps -o comm` and `top` show, truncated to 15 characters (proc(5))."""
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
    """Start a process in its own session that dies with this one; return it. Output is appended to `out` and `err`.

    Without `err`, to `out`. With `orders`, its stdin is a pipe, else empty.
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
    """Return every living process below `root`, except `excluded_pid` and its descendants, from one read of /proc.

    Processes that start during the read may be missing.
    """
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != excluded_pid:
            children.setdefault(parent_of(int(name)), []).append(int(name))
    pids, open_ends = [], [root]
    while open_ends:
        below = children.get(open_ends.pop(), [])
        pids += below
        open_ends += below
    return pids


def end_descendants(limit_s: float, *, survivors: Container[int] = (), excluded_pid: int = 0) -> bool:
    """Kill all descendants and wait for them; return False if some remain (state D cannot be killed).

    `survivors`, and `excluded_pid` with its descendants, live on. It does not collect the dead; `reap` does.
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
    """Collect all ended children without waiting; yield the pid of each and its exit code, or minus the signal."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def signal_process(pid: int, number: int) -> None:
    """Send a signal; a process that has ended is no error."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def parent_of(pid: int) -> int:
    """Return the pid of a process's parent; 0 for one that has ended, is a zombie or cannot be read."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, parent = file.read().rpartition(b")")[2].split()[:2]  # proc(5): after the name in brackets
    except (OSError, ValueError):
        return 0
    return 0 if state == b"Z" else int(parent)


def _prctl(option: int, value: int) -> None:
    if _LIBC.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option})")
