"""Merge the lines of many ranks; equal lines of several ranks are deduplicated (standard library, Python 3.8)."""

from __future__ import annotations

import re
from collections import Counter, deque
from typing import Deque, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Sequence, Tuple

JOB = "job"
FEW = 3  # up to so many hosts are named; of more, their number is shown
_BEGINS = re.compile(rb"\bgeneration (\d+) on ")


class MergedLine(NamedTuple):
    """A line and its sources: `host:local rank` for a rank, JOB for the supervisor."""

    sources: Tuple[str, ...]
    text: bytes


class Chunk(NamedTuple):
    """New lines of one file."""

    source: str
    generation: int
    lines: List[bytes]


def merge(chunks: Sequence[Chunk]) -> Iterator[MergedLine]:
    """Yield all lines in order: by generation, each between the supervisor's lines about its start and its end."""
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
    """Split the supervisor's lines by generation; lines before a start belong to the previous generation."""
    chunks = [Chunk(source, generation, [])]
    for line in lines:
        begins = _BEGINS.search(line)
        if begins:
            chunks.append(Chunk(source, int(begins.group(1)), []))
        chunks[-1].lines.append(line)
    return [chunk for chunk in chunks if chunk.lines]


def fold(lines: Mapping[str, Sequence[bytes]]) -> Iterator[MergedLine]:
    """Merge the lines of several sources, each in its order; a line that others have too waits until they reach it."""
    queues: Dict[str, Deque[bytes]] = {
        source: deque(source_lines) for source, source_lines in lines.items() if source_lines
    }
    remaining = Counter(text for queue in queues.values() for text in queue)
    while queues:
        text, sources = _next(queues, remaining)
        remaining[text] -= len(sources)
        for source in sources:
            queues[source].popleft()
            if not queues[source]:
                del queues[source]
        yield MergedLine(tuple(sources), text)


def _next(queues: Mapping[str, Deque[bytes]], remaining: Mapping[bytes, int]) -> Tuple[bytes, List[str]]:
    """Return a line that needs to wait for no other source; if all wait for each other, the first one."""
    waiting: Dict[bytes, List[str]] = {}
    for source, queue in queues.items():
        text = queue[0]
        if remaining[text] == 1:
            return text, [source]
        waiting.setdefault(text, []).append(source)
    for text, some in waiting.items():
        elsewhere = (queue for queue in queues.values() if queue[0] != text)
        if remaining[text] == len(some) or not any(text in queue for queue in elsewhere):
            return text, some
    return next(iter(waiting.items()))


def _joined(chunks: Sequence[Chunk]) -> Iterator[Chunk]:
    """Join the chunks of each source: a rank's stdout and stderr count as one."""
    by_source: Dict[str, Chunk] = {}
    for chunk in chunks:
        if chunk.source in by_source:
            by_source[chunk.source].lines.extend(chunk.lines)
        else:
            by_source[chunk.source] = Chunk(chunk.source, chunk.generation, list(chunk.lines))
    return iter(by_source.values())


def prefix(sources: Sequence[str]) -> str:
    """Format sources as `gpu-1:0`, `gpu-1:0-7`, `gpu-1,gpu-2:0-7` or `16 hosts:0-7`."""
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
    """Format ranks as `0-3,5`."""
    numbers = sorted({int(rank) for rank in ranks if rank.isdigit()})
    begins = [rank for rank in numbers if rank - 1 not in numbers]
    ends = [rank for rank in numbers if rank + 1 not in numbers]
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in zip(begins, ends))
