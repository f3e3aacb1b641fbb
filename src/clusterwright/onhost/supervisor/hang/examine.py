"""Whether a rank that stands still is hung, works, or is not let run: evidence for a second, then a pure judge.

A loop without end in Python goes from line to line too, so another line of the same function is no sign of work.

What it cannot see: work inside one function, or one call into C, that lasts longer than the second, on one thread,
and reads and writes nothing; it looks like a loop without end. The verdict then costs a restart, and doubles the
limit.
"""

from __future__ import annotations

import os
from typing import Iterable, List, NamedTuple, Optional, Sequence, Tuple

from clusterwright.onhost.supervisor.hang import stacks
from clusterwright.onhost.supervisor.host import processes

POLL_INTERVAL_S = 0.33  # four looks in a second
EVIDENCE_S = 1.0  # of time in which it was let run
MOST_S = 10.0
HUNG, ACTIVE, STARVED, EXITED = "hung", "active", "starved", "gone"

# Below these, what a process does is not taken for work: a store that is asked once a second, a log line.
LEAST_BYTES_PER_S = 4096
BUSY = 0.2  # of one core

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Sample(NamedTuple):
    """What the kernel and the process itself say at one moment; counters since the process began."""

    time: float
    state: str
    cpu_s: float
    main_cpu_s: float
    others_s: float
    bytes: int
    waited_s: float
    stacks: Tuple[str, ...]
    written: int = 0


class Finding(NamedTuple):
    """What a rank was found to be, in one word and in one line; `proven` leaves no doubt."""

    verdict: str
    words: str
    proven: bool = False


class Examination:
    """One rank, looked at a few times; `look` when `due`, then `finding`."""

    def __init__(self, pid: int, stacks_path: str) -> None:
        self._pid, self._path = pid, stacks_path
        self._samples: List[Sample] = []
        self._offset, self._dump_requested = 0, False

    def due(self, now: float) -> float:
        """Seconds until the next look."""
        return max(0.0, self._samples[-1].time + POLL_INTERVAL_S - now) if self._samples else 0.0

    def poll(self, now: float) -> Optional[Finding]:
        """Look once; the finding when that was enough."""
        sample = sample_process(self._pid, now, self._stacks())
        if not sample.state or sample.state in "ZX":
            return Finding(EXITED, "has ended")
        self._samples.append(sample._replace(written=stacks.size(self._path)))
        if enough(self._samples):
            return judge(self._samples)
        self._offset, self._dump_requested = stacks.size(self._path), stacks.request_dump(self._pid)
        return None

    def _stacks(self) -> Tuple[str, ...]:
        return stacks.threads(stacks.read_from(self._path, self._offset)) if self._dump_requested else ()


def sample_process(pid: int, now: float, written: Tuple[str, ...] = ()) -> Sample:
    """One look at a process and at those that it started."""
    descendants = processes.descendants(pid)
    fields = _stat(pid)
    return Sample(
        time=now,
        state=fields[0] if fields else "",
        cpu_s=_cpu_s(fields),
        main_cpu_s=_cpu_s(_stat(pid, f"task/{pid}/")),
        others_s=sum(_cpu_s(_stat(child)) + _waited_s(child) for child in descendants),
        bytes=sum(_bytes(process_id) for process_id in (pid, *descendants)),
        waited_s=_waited_s(pid),
        stacks=written,
    )


def enough(samples: Sequence[Sample]) -> bool:
    """A second in which the process was let run has been seen, or too much time has passed for that."""
    first_sample, last = samples[0], samples[-1]
    seconds = last.time - first_sample.time
    if last.state == stacks.STOPPED:
        return len(samples) > 1
    return (
        seconds - (last.waited_s - first_sample.waited_s) >= EVIDENCE_S - POLL_INTERVAL_S / 10
        or seconds >= MOST_S
    )


def judge(samples: Sequence[Sample]) -> Finding:
    """What the looks say; the first has no stacks yet, since it was the one that asked for them."""
    if samples[-1].state == stacks.STOPPED:
        return Finding(HUNG, "stopped by a signal (state T)", proven=True)
    spent = _spent(samples)
    answers = [sample.stacks[-1] for sample in samples if sample.stacks]
    finding = _starved(samples, spent) or _moves(samples, spent) or _works(answers, spent)
    if finding:
        return finding
    location = stacks.location(answers[-1]) if answers else "a place it does not tell"
    does = "runs and gets nowhere" if spent.busy >= BUSY else "waits"
    return Finding(HUNG, f"{does} in {location}, no byte moved")


class _Spent(NamedTuple):
    """Between the first look and the last; shares are of one core, while the process was let run."""

    seconds: float
    let_s: float
    cpu_s: float
    busy: float
    thread_load: float
    child_load: float
    bytes_per_s: float


def _spent(samples: Sequence[Sample]) -> _Spent:
    first_sample, last = samples[0], samples[-1]
    seconds = max(last.time - first_sample.time, 1e-3)
    let_s = max(seconds - (last.waited_s - first_sample.waited_s), 1e-3)
    cpu_s, main_s = last.cpu_s - first_sample.cpu_s, last.main_cpu_s - first_sample.main_cpu_s
    moved = last.bytes - first_sample.bytes - (last.written - first_sample.written)
    return _Spent(
        seconds=seconds,
        let_s=let_s,
        cpu_s=cpu_s,
        busy=main_s / let_s,
        thread_load=(cpu_s - main_s) / seconds,
        child_load=(last.others_s - first_sample.others_s) / seconds,
        bytes_per_s=moved / seconds,
    )


def _starved(samples: Sequence[Sample], spent: _Spent) -> Optional[Finding]:
    """Ready to run, and not let."""
    ready = sum(sample.state == "R" for sample in samples) * 2 > len(samples)
    if spent.let_s < EVIDENCE_S / 2 or (ready and spent.cpu_s < EVIDENCE_S / 2):
        return Finding(STARVED, f"wants to run and got {spent.cpu_s / spent.seconds:.0%} of a core")
    return None


def _moves(samples: Sequence[Sample], spent: _Spent) -> Optional[Finding]:
    """It, or what it started, reads, writes, waits for storage or computes."""
    if sum(sample.state == "D" for sample in samples) * 2 >= len(samples):
        return Finding(ACTIVE, "waits for storage or for a driver (state D)")
    if spent.bytes_per_s >= LEAST_BYTES_PER_S:
        return Finding(ACTIVE, f"moves {spent.bytes_per_s / 1000:.0f} kB/s")
    if spent.child_load >= BUSY:
        return Finding(ACTIVE, f"its processes run or want to ({spent.child_load:.0%} of a core)")
    return None


def _works(answers: Sequence[str], spent: _Spent) -> Optional[Finding]:
    """Its code goes on: in the main thread, whose stacks these are, or in others that spend time."""
    if spent.busy >= BUSY and not answers:
        return Finding(ACTIVE, "computes, and writes no stacks that would show where")
    if len({stacks.functions(stack) for stack in answers}) > 1:
        return Finding(ACTIVE, f"works in {stacks.location(answers[-1])}")
    if spent.thread_load >= BUSY:
        return Finding(ACTIVE, f"its threads work ({spent.thread_load:.0%} of a core)")
    return None


def _stat(pid: int, task: str = "") -> List[str]:
    """The fields of /proc/PID/stat from the state on (proc(5), field 3), or those of one of its threads."""
    try:
        with open(f"/proc/{pid}/{task}stat", "rb") as file:
            return file.read().rpartition(b")")[2].decode().split()
    except OSError:
        return []


def _cpu_s(fields: Sequence[str]) -> float:
    return (int(fields[11]) + int(fields[12])) * _TICK_S if fields else 0.0


def _bytes(pid: int) -> int:
    """Read and written by calls, and read through mapped memory."""
    try:
        with open(f"/proc/{pid}/io", "rb") as file:
            return sum(_numbers(file))
    except OSError:
        return 0


def _numbers(lines: Iterable[bytes]) -> Iterable[int]:
    for line in lines:
        name, _, number = line.partition(b":")
        if name in (b"rchar", b"wchar", b"read_bytes"):
            yield int(number)


def _waited_s(pid: int) -> float:
    """How long the main thread was ready to run and another ran (sched-stats, nanoseconds)."""
    try:
        with open(f"/proc/{pid}/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0
