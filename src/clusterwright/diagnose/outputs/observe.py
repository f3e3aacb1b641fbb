"""Run the readers of all tools over the sample of a source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Protocol, overload

from clusterwright.diagnose.outputs import tools
from clusterwright.diagnose.outputs.tools import KEYWORDS
from clusterwright.diagnose.outputs.value import Finding, Normal, Row

Observation = Finding | Normal


class OutputText(Protocol):
    """A text that may contain outputs, such as a sample of a log."""

    def contains(self, keyword: bytes) -> bool:
        """Return whether the text contains `keyword`, which is in lower case, ignoring case."""

    def rows(self) -> Iterator[Row]:
        """Yield the lines of a command's output, each with its position, rank and host."""


class _CheckedRows(Sequence[Row]):
    """Lines of which each one that a reader takes is charged to a budget, also by slices."""

    def __init__(self, rows: Sequence[Row], check: Callable[[], None]) -> None:
        self._rows, self._check = rows, check

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        for row in self._rows:
            self._check()
            yield row

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        self._check()
        if isinstance(index, slice):
            return _CheckedRows(self._rows[index], self._check)
        return self._rows[index]


def observe(
    text: OutputText, memory_bytes: int | None = None, check: Callable[[], None] = lambda: None
) -> Iterator[Observation]:
    """Yield the findings and normal values of a text; `memory_bytes` is the memory limit of the job per host.

    `check` is called for each line that a reader takes and for each observation: it may end the reading.
    """
    present = [name for name, keywords in KEYWORDS.items() if any(map(text.contains, keywords))]
    if not present:
        return
    rows = []
    for row in text.rows():
        check()
        rows.append(row)
    for name in present:
        tool = import_module(f"{tools.__name__}.{name}")
        for group in [rows] if getattr(tool, "COMPARES_HOSTS", False) else _by_host(rows):
            check()
            for observation in tool.read(_CheckedRows(group, check), memory_bytes):
                check()
                yield observation


def _by_host(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the lines of each host that is named before its lines, as by pdsh, and those of no named host."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.host, []).append(row)
    return list(groups.values())
