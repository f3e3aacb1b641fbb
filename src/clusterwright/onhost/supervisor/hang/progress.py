"""The progress page of a rank: one page of memory that its agent reads, at no cost to either.

The page belongs to the agent; a rank opens it as `/proc/AGENT/fd/N` and updates it even if the script does
not use the runtime. Words are read and written atomically, in native byte order (little-endian wherever Slurm
runs). Counters are meaningful only in comparison with those of other ranks: see inquiry.py.
"""

from __future__ import annotations

import mmap
import os
import sys
import threading
import time
import zlib
from typing import Any, Dict, Mapping, NamedTuple, Tuple

from clusterwright.onhost.supervisor.hang import stacks

VARIABLE = "CLUSTERWRIGHT_PROGRESS"
PAGE = 4096
LIFE, COLLECTIVES, STEP, PHASE, MOVED, COPIED, SHIPPED, REGROUP, RANK_TIME, WAIT_TIME = range(10)
STARTING, STEPPING, PAUSED = range(3)
# From this word on: pairs of a process group's name (as a number) and its count of collectives; 0 ends the list.
GROUPS = 16
MOST_GROUPS = (PAGE // 8 - GROUPS) // 2 - 1
EVERY_S = 0.1

_THREAD = "clusterwright-progress"


class ProgressSnapshot(NamedTuple):
    """One rank's page at one moment; times are the host's monotonic clock in seconds, 0 for never."""

    life: float
    collectives: int
    step: int
    phase: int
    moved: float
    groups: Dict[int, int]


class Page:
    """One rank's progress page, mapped from the agent's file."""

    def __init__(self, file: int, offset: int = 0) -> None:
        self._memory = mmap.mmap(file, offset + PAGE)
        self._cells = memoryview(self._memory)[offset : offset + PAGE].cast("Q")

    def __getitem__(self, index: int) -> int:
        return self._cells[index]

    def __setitem__(self, index: int, value: int) -> None:
        self._cells[index] = value

    def close(self) -> None:
        """Unmap the rank's progress page."""
        self._cells.release()
        self._memory.close()

    def read(self) -> ProgressSnapshot:
        """Return the rank's progress page as a snapshot: life, collectives, step, phase, time of the last progress."""
        cells = self._cells[: GROUPS + 2 * MOST_GROUPS].tolist()
        groups: Dict[int, int] = {}
        for offset in range(GROUPS, len(cells), 2):
            if not cells[offset]:
                break
            groups[cells[offset]] = cells[offset + 1]
        return ProgressSnapshot(
            cells[LIFE] / 1e9, cells[COLLECTIVES], cells[STEP], cells[PHASE], cells[MOVED] / 1e9, groups
        )

    def clear(self) -> None:
        """Set the rank's progress page to zeros, for the rank of a new generation."""
        for index in range(PAGE // 8):
            self._cells[index] = 0


class Pages:
    """The progress pages of one host's ranks, in one file; they live as long as the agent."""

    def __init__(self, ranks: int) -> None:
        self._file = os.memfd_create("clusterwright-progress", os.MFD_CLOEXEC)
        os.ftruncate(self._file, ranks * PAGE)
        self._pages = [Page(self._file, number * PAGE) for number in range(ranks)]

    def __len__(self) -> int:
        return len(self._pages)

    def __getitem__(self, local_rank: int) -> Page:
        return self._pages[local_rank]

    def variable(self, local_rank: int) -> Tuple[str, str]:
        """Return name and value of the environment variable by which a rank finds its progress page."""
        return VARIABLE, f"/proc/{os.getpid()}/fd/{self._file}:{local_rank * PAGE}"

    def close(self) -> None:
        """Unmap the progress pages of all ranks, and close their file."""
        for page in self._pages:
            page.close()
        os.close(self._file)


class Collectives:
    """Counts the collectives that this process has started over all its process groups; the count never falls."""

    def __init__(self) -> None:
        self._total = 0
        self._last: Dict[str, int] = {}

    def count(self) -> Dict[str, int]:
        """Return the number of collectives started in each process group, by name, and update the total.

        Empty before the script has joined a process group.
        """
        numbers = _sequence_numbers()
        for name, number in numbers.items():
            last = self._last.get(name, 0)
            self._total += number - last if number >= last else number  # a recreated group starts at 0
        self._last.update(numbers)
        return numbers

    @property
    def total(self) -> int:
        """Return the number of all collectives so far, also of destroyed groups, as of the last `count`."""
        return self._total


def show(path: str, offset: int, stacks_to: str = "") -> None:
    """Start a thread that updates this process's progress page; with `stacks_to`, write stacks there at a signal.

    Ten updates per second: 0.03 % of a core. The thread stops when the interpreter does (a C function that holds the
    GIL, a stopped process), which the agent detects.
    """
    if stacks_to:
        stacks.listen(stacks_to)
    file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        page = Page(file, offset)
    finally:
        os.close(file)
    threading.Thread(target=_update_loop, args=(page,), name=_THREAD, daemon=True).start()


def show_agent(environ: Mapping[str, str] = os.environ) -> None:
    """Start to update the progress page of the agent that started this process; without one, do nothing.

    An error goes to stderr: better a rank without hang detection than none.
    """
    path, _, offset = environ.get(VARIABLE, "").rpartition(":")
    if not path:
        return
    try:
        show(path, int(offset), environ.get(stacks.VARIABLE, ""))
    except OSError as error:  # better a rank without hang detection than none
        sys.stderr.write(f"cannot report progress to the agent: {error}\n")


def _update_loop(page: Page) -> None:
    collectives = Collectives()
    while True:
        page[LIFE] = time.monotonic_ns()
        _write(page, collectives)
        time.sleep(EVERY_S)


def _write(page: Page, collectives: Collectives) -> None:
    groups = list(collectives.count().items())[:MOST_GROUPS]
    for index, (name, number) in enumerate(groups):
        page[GROUPS + 2 * index + 1] = number
        page[GROUPS + 2 * index] = 1 + zlib.crc32(name.encode())
    page[GROUPS + 2 * len(groups)] = 0
    page[COLLECTIVES] = collectives.total


def _sequence_numbers() -> Dict[str, int]:
    """Return the counters of torch's process groups, if loaded; all ranks of a group use the same name.

    Groups whose counter raises an error are left out.
    """
    module = sys.modules.get("torch.distributed.distributed_c10d")
    world: Any = getattr(module, "_world", None)
    numbers: Dict[str, int] = {}
    for group in list(getattr(world, "pg_map", ())):
        try:
            numbers[str(world.pg_names.get(group, ""))] = int(group._get_sequence_number_for_group())  # noqa: SLF001 (torch has no public API for it)
        except Exception:  # nosec B112 # noqa: BLE001, S112 (one broken group must not hide the others)
            continue
    return numbers
