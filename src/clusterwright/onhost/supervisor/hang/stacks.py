"""The Python stacks of a rank, which it writes itself at a signal, whatever it is doing.

faulthandler writes them in the signal handler, in C, even while a C function holds the GIL. A process that
waits uninterruptibly in the kernel (state D) or is stopped cannot respond.
"""

from __future__ import annotations

import faulthandler
import os
import re
import signal
import time
from typing import List, Mapping, Tuple

from clusterwright.onhost.lib.safe_reader import TEXT_BYTES, read_part

# A real-time signal, since scripts use USR1 and USR2 themselves; glibc reserves the first two, and other programs
# count from either end, so it lies in the middle.
SIGNAL = signal.SIGRTMIN + 13
VARIABLE = "CLUSTERWRIGHT_STACKS"
TIME_TO_WRITE_S = 2.0  # faulthandler writes word by word, which a slow disk makes long
QUIET_S = 0.2  # a file that has grown and then kept its size for so long is complete
STOPPED = "T"  # `state` of a process that a signal has stopped

_THREAD = re.compile(
    r"^(?:Current thread|Thread) 0x[0-9a-f]+[^\n]*\(most recent call first\):$", re.MULTILINE
)
_FRAME = re.compile(r'^  File "(?P<file>[^"\n]*)", line (?P<line>\d+) in (?P<name>.*)$', re.MULTILINE)
_PROGRESS_FILE = "clusterwright/onhost/supervisor/hang/progress.py"

_FILES: List[int] = []  # open as long as the process lives


def path(log_dir: str, local_rank: int) -> str:
    """Return the path of the file with a rank's stacks, beside its log."""
    return os.path.join(log_dir, f"{local_rank}.stacks")


def listen(path: str) -> None:
    """Make this process append the stacks of all its threads to a file at each SIGNAL."""
    _FILES.append(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    faulthandler.register(SIGNAL, file=_FILES[-1], all_threads=True)


def listens(pid: int) -> bool:
    """Return True if the process handles SIGNAL, which would kill any other."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            caught = re.search(r"^SigCgt:\s*([0-9a-f]+)$", file.read(), re.MULTILINE)
    except OSError:
        return False
    return bool(caught and int(caught[1], 16) >> (SIGNAL - 1) & 1)


def request_dump(pid: int) -> bool:
    """Request that the process write its stacks; return False if it has ended or does not handle the signal."""
    if not listens(pid):
        return False
    try:
        os.kill(pid, SIGNAL)
    except ProcessLookupError:
        return False
    return True


def dump_all(paths: Mapping[int, str]) -> None:
    """Make processes (pid to path of its stacks) write their stacks before they are killed, each in TIME_TO_WRITE_S.

    Stopped ones are continued for that, after the others have written.
    """
    sizes = {path: size(path) for path in paths.values()}
    requested = [pid for pid in paths if request_dump(pid)]
    stopped = [pid for pid in requested if state(pid) == STOPPED]
    _wait_until_written({paths[pid]: sizes[paths[pid]] for pid in requested if pid not in stopped})
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)  # the pending signal is handled first
    _wait_until_written({paths[pid]: sizes[paths[pid]] for pid in stopped})


def _wait_until_written(sizes: Mapping[str, int]) -> None:
    """Wait until each file has grown and then kept its size for QUIET_S, at most TIME_TO_WRITE_S."""
    start = time.monotonic()
    last, changed_at = dict(sizes), start
    while sizes and time.monotonic() - start < TIME_TO_WRITE_S:
        now = {path: size(path) for path in sizes}
        if now != last:
            last, changed_at = now, time.monotonic()
        elif all(now[path] > sizes[path] for path in sizes) and time.monotonic() - changed_at >= QUIET_S:
            return
        time.sleep(0.02)


def state(pid: int) -> str:
    """Return a process's state as in proc(5): R running, S sleeping, D in the kernel, T stopped; "" if ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0].decode()
    except (OSError, IndexError):
        return ""


def size(path: str) -> int:
    """Return the size of the file in bytes; 0 without a file."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def read_from(path: str, offset: int) -> str:
    """Return at most TEXT_BYTES of a file's text from the offset on; "" if it cannot be read safely.

    The reader may be root, and the file belongs to a user.
    """
    try:
        return read_part(path, TEXT_BYTES, offset).decode("utf-8", "replace")
    except OSError:
        return ""


def threads(text: str) -> Tuple[str, ...]:
    """Return the stack of each thread in the text of one dump, the main thread last, without the progress thread."""
    parts = _THREAD.split(text)[1:]
    return tuple("\n".join(_frame_lines(part)) for part in parts if _PROGRESS_FILE not in part)


def location(stack: str) -> str:
    """Return file, line and function of the innermost frame of the script, else of a library.

    `no Python code` without frames.
    """
    frames = [match.groupdict() for match in _FRAME.finditer(stack)]
    if not frames:
        return "no Python code"
    script_frames = [
        frame for frame in frames if "/lib/python" not in frame["file"] and "<" not in frame["file"]
    ]
    innermost = (script_frames or frames)[0]
    return f"{os.path.basename(innermost['file'])}:{innermost['line']} ({innermost['name']})"


def functions(stack: str) -> Tuple[str, ...]:
    """Return file and function of each frame of a stack, without line numbers."""
    return tuple(match["file"] + match["name"] for match in _FRAME.finditer(stack))


def _frame_lines(part: str) -> List[str]:
    return [match[0] for match in _FRAME.finditer(part)]
