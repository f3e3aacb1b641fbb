"""What a rank shows of itself: one page of memory that its agent reads, at no cost to either.

The page belongs to the agent; a rank opens it as `/proc/AGENT/fd/N` and keeps writing even while the script that it
runs knows nothing of us. Words are read and written whole, in the machine's own order (little-endian on what Slurm
runs on). The numbers mean something only together with those of the other ranks: see inquiry.py.
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
LIFE, COLLECTIVES, STEP, PHASE, MOVED, COPIED, SHIPPED, REGROUP = range(8)
STARTING, STEPPING, PAUSED = range(3)
# From this word on: pairs of a process group's name (as a number) and its count of collectives; 0 ends the list.
GROUPS = 16
MOST_GROUPS = (PAGE // 8 - GROUPS) // 2 - 1
EVERY_S = 0.1

_THREAD = "clusterwright-progress"


class Snapshot(NamedTuple):
    """One rank's page at one moment; times are the host's monotonic clock in seconds, 0 for never."""

    life: float
    collectives: int
    step: int
    phase: int
    moved: float
    groups: Dict[int, int]


class Page:
    """One rank's page, for whoever has the file."""

    def __init__(self, file: int, offset: int = 0) -> None:
        self._memory = mmap.mmap(file, offset + PAGE)
        self._cells = memoryview(self._memory)[offset : offset + PAGE].cast("Q")

    def __getitem__(self, index: int) -> int:
        return self._cells[index]

    def __setitem__(self, index: int, value: int) -> None:
        self._cells[index] = value

    def close(self) -> None:
        """The memory is no longer ours."""
        self._cells.release()
        self._memory.close()

    def read(self) -> Snapshot:
        """What the rank shows now."""
        cells = self._cells[: GROUPS + 2 * MOST_GROUPS].tolist()
        groups: Dict[int, int] = {}
        for offset in range(GROUPS, len(cells), 2):
            if not cells[offset]:
                break
            groups[cells[offset]] = cells[offset + 1]
        return Snapshot(
            cells[LIFE] / 1e9, cells[COLLECTIVES], cells[STEP], cells[PHASE], cells[MOVED] / 1e9, groups
        )

    def clear(self) -> None:
        """A new rank begins: nothing of the one before is left."""
        for index in range(PAGE // 8):
            self._cells[index] = 0


class Pages:
    """The pages of one host's ranks; they live as long as the agent."""

    def __init__(self, ranks: int) -> None:
        self._file = os.memfd_create("clusterwright-progress", os.MFD_CLOEXEC)
        os.ftruncate(self._file, ranks * PAGE)
        self._pages = [Page(self._file, number * PAGE) for number in range(ranks)]

    def __len__(self) -> int:
        return len(self._pages)

    def __getitem__(self, local_rank: int) -> Page:
        return self._pages[local_rank]

    def variable(self, local_rank: int) -> Tuple[str, str]:
        """Name and value of the variable by which a rank finds its page."""
        return VARIABLE, f"/proc/{os.getpid()}/fd/{self._file}:{local_rank * PAGE}"

    def close(self) -> None:
        """The memory is given back."""
        for page in self._pages:
            page.close()
        os.close(self._file)


class Collectives:
    """Counts the collectives that this process has started, over all its process groups; it never goes back."""

    def __init__(self) -> None:
        self._total = 0
        self._last: Dict[str, int] = {}

    def count(self) -> Dict[str, int]:
        """What each group has started; empty before the script has imported and joined a process group."""
        numbers = _sequence_numbers()
        for name, number in numbers.items():
            last = self._last.get(name, 0)
            self._total += number - last if number >= last else number  # a group made anew begins at nothing
        self._last.update(numbers)
        return numbers

    @property
    def total(self) -> int:
        """All of them so far; a group that is gone keeps what it did."""
        return self._total


def show(path: str, offset: int, stacks_to: str = "") -> None:
    """Keep this process's page up to date from a thread of its own, and have its stacks written when asked.

    Ten times a second: 0.03 % of a core. The thread stands still when the interpreter does (a C function that
    keeps the lock, a stopped process), and that is seen too.
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
    """Show the agent that started this process; without one, nobody is shown anything."""
    path, _, offset = environ.get(VARIABLE, "").rpartition(":")
    if not path:
        return
    try:
        show(path, int(offset), environ.get(stacks.VARIABLE, ""))
    except OSError as error:  # a rank trains on unwatched rather than not at all
        sys.stderr.write(f"no progress is shown to the agent: {error}\n")


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
    """From torch, if the script has loaded it; group names are the same on all ranks of a group."""
    module = sys.modules.get("torch.distributed.distributed_c10d")
    world: Any = getattr(module, "_world", None)
    numbers: Dict[str, int] = {}
    for group in list(getattr(world, "pg_map", ())):
        try:
            numbers[str(world.pg_names.get(group, ""))] = int(group._get_sequence_number_for_group())  # noqa: SLF001 (torch has no public name for it)
        except Exception:  # noqa: BLE001, S112 (one run's damaged files are no reason to leave out all others)
            continue
    return numbers
