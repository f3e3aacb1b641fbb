"""The Python stacks of a rank, written by itself when it is asked by a signal, whatever it is doing.

faulthandler writes them inside the signal's handler, in C: also while a C function keeps the interpreter's lock. A
process that waits in the kernel without being killable (state D) cannot answer, nor can one that is stopped.
"""

from __future__ import annotations

import faulthandler
import os
import re
import signal
import time
from typing import List, Sequence, Tuple

# A real-time signal, since scripts use USR1 and USR2 themselves; glibc keeps the first two, and others count from
# either end, so it lies in the middle.
SIGNAL = signal.SIGRTMIN + 13
VARIABLE = "CLUSTERWRIGHT_STACKS"
TIME_TO_WRITE_S = 0.2
STOPPED = "T"  # what `state` says of a process that a signal has stopped

_THREAD = re.compile(
    r"^(?:Current thread|Thread) 0x[0-9a-f]+[^\n]*\(most recent call first\):$", re.MULTILINE
)
_FRAME = re.compile(r'^  File "(?P<file>[^"\n]*)", line (?P<line>\d+) in (?P<name>.*)$', re.MULTILINE)
_PROGRESS_FILE = "clusterwright/onhost/supervisor/hang/progress.py"

_FILES: List[int] = []  # kept open for as long as the process lives


def path(log_dir: str, local_rank: int) -> str:
    """Where a rank's stacks are, beside what it says."""
    return os.path.join(log_dir, f"{local_rank}.stacks")


def listen(path: str) -> None:
    """From now on the signal appends the stacks of all threads of this process to the file."""
    _FILES.append(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    faulthandler.register(SIGNAL, file=_FILES[-1], all_threads=True)


def listens(pid: int) -> bool:
    """True when the process would answer; any other would be ended by the signal."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            caught = re.search(r"^SigCgt:\s*([0-9a-f]+)$", file.read(), re.MULTILINE)
    except OSError:
        return False
    return bool(caught and int(caught[1], 16) >> (SIGNAL - 1) & 1)


def request_dump(pid: int) -> bool:
    """Ask for the stacks; False when the process cannot answer."""
    if not listens(pid):
        return False
    try:
        os.kill(pid, SIGNAL)
    except ProcessLookupError:
        return False
    return True


def dump_all(pids: Sequence[int]) -> None:
    """Have all of them write their stacks before they are killed; a stopped one is let go on for it."""
    responsive_pids = [pid for pid in pids if request_dump(pid)]
    if responsive_pids:
        time.sleep(TIME_TO_WRITE_S)
    stopped = [pid for pid in responsive_pids if state(pid) == "T"]
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)  # the waiting signal is served before anything else
    if stopped:
        time.sleep(TIME_TO_WRITE_S / 2)


def state(pid: int) -> str:
    """As proc(5) names it: R runs, S sleeps, D waits in the kernel, T is stopped; empty when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0].decode()
    except (OSError, IndexError):
        return ""


def size(path: str) -> int:
    """Of what has been written so far."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def read_from(path: str, offset: int) -> str:
    """What was written from there on."""
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def threads(text: str) -> Tuple[str, ...]:
    """The stacks of one answer, the main thread's last; our own thread is left out."""
    parts = _THREAD.split(text)[1:]
    return tuple("\n".join(_frame_lines(part)) for part in parts if _PROGRESS_FILE not in part)


def location(stack: str) -> str:
    """Where it is, in the words of a person: the innermost line of the script itself, not of a library."""
    frames = [match.groupdict() for match in _FRAME.finditer(stack)]
    if not frames:
        return "no Python code"
    script_frames = [
        frame for frame in frames if "/lib/python" not in frame["file"] and "<" not in frame["file"]
    ]
    innermost = (script_frames or frames)[0]
    return f"{os.path.basename(innermost['file'])}:{innermost['line']} ({innermost['name']})"


def functions(stack: str) -> Tuple[str, ...]:
    """What has called what, whatever the lines."""
    return tuple(match["file"] + match["name"] for match in _FRAME.finditer(stack))


def _frame_lines(part: str) -> List[str]:
    return [match[0] for match in _FRAME.finditer(part)]
