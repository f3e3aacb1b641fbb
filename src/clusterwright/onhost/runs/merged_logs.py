"""Merge the lines of many ranks; equal lines of several ranks are deduplicated (standard library, Python 3.8)."""

from __future__ import annotations

import re
from collections import Counter, deque
from heapq import heappop, heappush
from typing import Deque, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Sequence, Tuple

from clusterwright.onhost.lib.numbers import ascii_int

JOB = "job"
FEW = 3  # up to so many hosts are named; of more, their number is shown
_BEGINS = re.compile(rb"\bgeneration (\d+) on ")


class MergedLine(NamedTuple):
    """A line of a run's logs with its sources: `host:local rank` for a rank, JOB for the supervisor."""

    sources: Tuple[str, ...]
    text: bytes


class Chunk(NamedTuple):
    """New lines of one log file, with their source and generation."""

    source: str
    generation: int
    lines: List[bytes]


def merge(chunks: Sequence[Chunk]) -> Iterator[MergedLine]:
    """Yield the new lines of all log files by generation: the supervisor's line of its start, the ranks', its others.

    A line that several ranks have is yielded once, with all of them as sources.
    """
    chunks_by_order: Dict[Tuple[int, int], List[Chunk]] = {}
    for chunk in chunks:
        begins = chunk.source == JOB and _BEGINS.search(chunk.lines[0])
        head, tail = (chunk.lines[:1], chunk.lines[1:]) if begins else ([], chunk.lines)
        for order, some in ((0, head), (1 if chunk.source != JOB else 2, tail)):
            if some:
                chunks_by_order.setdefault((chunk.generation, order), []).append(chunk._replace(lines=some))
    for order_key in sorted(chunks_by_order):
        yield from fold({chunk.source: chunk.lines for chunk in _joined(chunks_by_order[order_key])})


def split(source: str, lines: Iterable[bytes], generation: int) -> List[Chunk]:
    """Return the supervisor's lines as chunks by generation, each of which begins at the line that starts one.

    `generation` is that of the lines before the first start.
    """
    chunks = [Chunk(source, generation, [])]
    for line in lines:
        begins = _BEGINS.search(line)
        if begins:
            chunks.append(Chunk(source, int(begins.group(1)), []))
        chunks[-1].lines.append(line)
    return [chunk for chunk in chunks if chunk.lines]


def fold(lines: Mapping[str, Sequence[bytes]]) -> Iterator[MergedLine]:
    """Merge the lines of several sources; a line that several have is yielded once, with all of them.

    The lines of each source stay in order: a common line waits until all sources that have it reach it.
    """
    names = [source for source, source_lines in lines.items() if source_lines]
    queues = _Queues([deque(lines[source]) for source in names])
    while True:
        text, numbers = queues.pop()
        if not numbers:
            return
        yield MergedLine(tuple(names[number] for number in numbers), text)


class _Queues:
    """The lines of several sources that wait for each other, for `fold`; takes O(n log n) for n lines."""

    def __init__(self, queues: List[Deque[bytes]]) -> None:
        self._queues = queues
        self._left = [Counter(queue) for queue in queues]  # of each source
        self._remaining = Counter(text for queue in queues for text in queue)
        self._holders = Counter(
            text for counts in self._left for text in counts
        )  # sources that have the text
        self._heads: Dict[bytes, List[int]] = {}  # sources whose next line it is
        self._single: List[int] = []  # heaps; entries that are no longer true are skipped
        self._ready: List[Tuple[int, bytes]] = []
        self._first = 0
        for number in range(len(queues)):
            self._reached(number)

    def pop(self) -> Tuple[bytes, List[int]]:
        """Remove and return the line that needs to wait for no other source, with the numbers of its sources.

        If all wait for each other, that of the first source; no numbers at the end.
        """
        text = self._next()
        numbers = sorted(self._heads.pop(text, ()))
        for number in numbers:
            self._queues[number].popleft()
            self._left[number][text] -= 1
            self._remaining[text] -= 1
            self._holders[text] -= not self._left[number][text]
        for number in numbers:
            if self._queues[number]:
                self._reached(number)
        self._look(text)
        return text, numbers

    def _reached(self, number: int) -> None:
        text = self._queues[number][0]
        self._heads.setdefault(text, []).append(number)
        self._look(text)

    def _look(self, text: bytes) -> None:
        """Mark a text as ready if no source that has it still has other lines before it."""
        heads = self._heads.get(text)
        if heads and self._remaining[text] == 1:
            heappush(self._single, heads[0])
        elif heads and self._holders[text] == len(heads):
            heappush(self._ready, (min(heads), text))

    def _next(self) -> bytes:
        while self._single:
            queue = self._queues[heappop(self._single)]
            if queue and self._remaining[queue[0]] == 1:
                return queue[0]
        while self._ready:
            number, text = heappop(self._ready)
            heads = self._heads.get(text)
            if heads and min(heads) == number and self._holders[text] == len(heads):
                return text
        while self._first < len(self._queues) and not self._queues[self._first]:
            self._first += 1
        return self._queues[self._first][0] if self._first < len(self._queues) else b""


def _joined(chunks: Sequence[Chunk]) -> Iterator[Chunk]:
    """Return the chunks joined by source: a rank's stdout and stderr count as one."""
    by_source: Dict[str, Chunk] = {}
    for chunk in chunks:
        if chunk.source in by_source:
            by_source[chunk.source].lines.extend(chunk.lines)
        else:
            by_source[chunk.source] = Chunk(chunk.source, chunk.generation, list(chunk.lines))
    return iter(by_source.values())


def prefix(sources: Sequence[str]) -> str:
    """Return the sources of a line as text: `gpu-1:0`, `gpu-1:0-7`, `gpu-1,gpu-2:0-7` or `16 hosts:0-7`."""
    if len(sources) == 1:
        return sources[0]
    by_host: Dict[str, List[str]] = {}
    for source in sources:
        host, _, rank = source.partition(":")
        by_host.setdefault(host, []).append(rank)
    alike: Dict[str, List[str]] = {}
    for host, ranks in by_host.items():
        alike.setdefault(_ranges(ranks), []).append(host)
    return " ".join(_group(hosts, ranks) for ranks, hosts in alike.items())


def _group(hosts: Sequence[str], ranks: str) -> str:
    named = ",".join(hosts) if len(hosts) <= FEW else f"{len(hosts)} hosts"
    return f"{named}:{ranks}" if ranks else named


def _ranges(ranks: Iterable[str]) -> str:
    """Return local ranks as ranges: `0-3,5`; texts that are no number are left out."""
    numbers = sorted({number for number in map(ascii_int, ranks) if number is not None})
    begins = [rank for rank in numbers if rank - 1 not in numbers]
    ends = [rank for rank in numbers if rank + 1 not in numbers]
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in zip(begins, ends))
