"""Decide whether a rank without progress is hung, works, or gets no CPU time: a second of samples, then a pure judge.

An endless loop in Python executes changing lines too, so another line of the same function is no sign of
work.

Limit: work in one function or one C call that takes longer than the second, on one thread, without reads or
writes, looks like an endless loop. The verdict then costs a restart and doubles the limit.
"""

from __future__ import annotations

import os
from typing import Iterable, List, NamedTuple, Optional, Sequence, Tuple

from clusterwright.onhost.supervisor.hang import stacks
from clusterwright.onhost.supervisor.host import processes

POLL_INTERVAL_S = 0.33  # four samples per second
EVIDENCE_S = 1.0  # of time in which the process was not waiting for a CPU
MOST_S = 10.0
HUNG, ACTIVE, STARVED, EXITED = "hung", "active", "starved", "gone"

# Less than this is not work: a store that is polled once a second, a log line.
LEAST_BYTES_PER_S = 4096
BUSY = 0.2  # of one core

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Sample(NamedTuple):
    """Kernel counters and stacks of a process at one moment; counters since the process started."""

    time: float
    state: str
    cpu_s: float
    main_cpu_s: float
    others_s: float
    bytes: int
    waited_s: float
    stacks: Tuple[str, ...]
    written: int = 0


class HangFinding(NamedTuple):
    """The result for one rank: verdict, one line of text, and whether it is `proven` beyond doubt."""

    verdict: str
    message: str
    proven: bool = False


class Examination:
    """The samples of one rank; call `poll` when `due` is 0 until it returns a finding."""

    def __init__(self, pid: int, stacks_path: str) -> None:
        self._pid, self._path = pid, stacks_path
        self._samples: List[Sample] = []
        self._offset, self._dump_requested = 0, False

    def due(self, now: float) -> float:
        """Return the seconds until the next sample is due; 0 if it is due now, or if there is none yet."""
        return max(0.0, self._samples[-1].time + POLL_INTERVAL_S - now) if self._samples else 0.0

    def poll(self, now: float) -> Optional[HangFinding]:
        """Take a sample of the rank's process; return the finding once there are enough, None before.

        EXITED at once for a process that has ended.
        """
        sample = sample_process(self._pid, now, self._stacks())
        if not sample.state or sample.state in "ZX":
            return HangFinding(EXITED, "has ended")
        self._samples.append(sample._replace(written=stacks.size(self._path)))
        if enough(self._samples):
            return judge(self._samples)
        self._offset, self._dump_requested = stacks.size(self._path), stacks.request_dump(self._pid)
        return None

    def _stacks(self) -> Tuple[str, ...]:
        return stacks.threads(stacks.read_from(self._path, self._offset)) if self._dump_requested else ()


def sample_process(pid: int, now: float, written: Tuple[str, ...] = ()) -> Sample:
    """Return a sample of a process and its descendants: state, CPU time, bytes, waits; `written` are its stacks."""
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
    """Return True if the samples cover a second in which the process did not wait for a CPU, or MOST_S.

    A stopped process needs two samples only.
    """
    first_sample, last = samples[0], samples[-1]
    seconds = last.time - first_sample.time
    if last.state == stacks.STOPPED:
        return len(samples) > 1
    return (
        seconds - (last.waited_s - first_sample.waited_s) >= EVIDENCE_S - POLL_INTERVAL_S / 10
        or seconds >= MOST_S
    )


def judge(samples: Sequence[Sample]) -> HangFinding:
    """Return the finding about a rank from its samples: stopped, else starved, active or working, else hung.

    A hang names the place of the newest stacks; the first sample has none, as it only requested them.
    """
    if samples[-1].state == stacks.STOPPED:
        return HangFinding(HUNG, "stopped by a signal (state T)", proven=True)
    spent = _spent(samples)
    answers = [sample.stacks[-1] for sample in samples if sample.stacks]
    finding = _starved(samples, spent) or _moves(samples, spent) or _works(answers, spent)
    if finding:
        return finding
    location = stacks.location(answers[-1]) if answers else "an unknown place"
    does = "runs without progress" if spent.busy >= BUSY else "waits"
    return HangFinding(HUNG, f"{does} in {location}; no bytes read or written")


class _Spent(NamedTuple):
    """Resource use from the first to the last sample; shares are of one core, without time spent waiting for a CPU."""

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


def _starved(samples: Sequence[Sample], spent: _Spent) -> Optional[HangFinding]:
    """Return the finding STARVED if the process is ready to run but gets hardly any CPU time; else None."""
    ready = sum(sample.state == "R" for sample in samples) * 2 > len(samples)
    if spent.let_s < EVIDENCE_S / 2 or (ready and spent.cpu_s < EVIDENCE_S / 2):
        return HangFinding(
            STARVED, f"is ready to run and gets only {spent.cpu_s / spent.seconds:.0%} of a core"
        )
    return None


def _moves(samples: Sequence[Sample], spent: _Spent) -> Optional[HangFinding]:
    """Return the finding ACTIVE if the process reads, writes or waits for storage, or a descendant runs; else None."""
    if sum(sample.state == "D" for sample in samples) * 2 >= len(samples):
        return HangFinding(ACTIVE, "waits for storage or for a driver (state D)")
    if spent.bytes_per_s >= LEAST_BYTES_PER_S:
        return HangFinding(ACTIVE, f"reads and writes {spent.bytes_per_s / 1000:.0f} kB/s")
    if spent.child_load >= BUSY:
        return HangFinding(
            ACTIVE, f"its child processes run or are ready to run ({spent.child_load:.0%} of a core)"
        )
    return None


def _works(answers: Sequence[str], spent: _Spent) -> Optional[HangFinding]:
    """Return the finding ACTIVE if code makes progress: the main thread by its stacks, others by CPU time; else None.

    `answers` are the main thread's stacks.
    """
    if spent.busy >= BUSY and not answers:
        return HangFinding(ACTIVE, "computes, but writes no stacks")
    if len({stacks.functions(stack) for stack in answers}) > 1:
        return HangFinding(ACTIVE, f"works in {stacks.location(answers[-1])}")
    if spent.thread_load >= BUSY:
        return HangFinding(ACTIVE, f"its other threads run ({spent.thread_load:.0%} of a core)")
    return None


def _stat(pid: int, task: str = "") -> List[str]:
    """Return the fields of /proc/PID/stat from the state on (proc(5), field 3), or those of one of its threads.

    Empty if it has ended.
    """
    try:
        with open(f"/proc/{pid}/{task}stat", "rb") as file:
            return file.read().rpartition(b")")[2].decode().split()
    except OSError:
        return []


def _cpu_s(fields: Sequence[str]) -> float:
    return (int(fields[11]) + int(fields[12])) * _TICK_S if fields else 0.0


def _bytes(pid: int) -> int:
    """Return the bytes that a process has read and written by system calls, and read through mapped memory.

    0 if it has ended, or the kernel does not let this process read that.
    """
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
    """Return the seconds that the main thread has waited for a CPU (sched-stats, in nanoseconds); 0 if unknown."""
    try:
        with open(f"/proc/{pid}/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0
