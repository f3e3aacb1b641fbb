"""Lines of many ranks as one text: what several say in the same words is told once (standard library, Python 3.8)."""

from __future__ import annotations

import re
from collections import Counter, deque
from typing import Deque, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Sequence, Tuple

JOB = "job"
FEW = 3  # hosts that are named; of more, their number
_BEGINS = re.compile(rb"\bgeneration (\d+) on ")


class Said(NamedTuple):
    """A line, and who said it: `host:local rank` for a rank, JOB for the supervisor."""

    who: Tuple[str, ...]
    text: bytes


class Chunk(NamedTuple):
    """New lines of one file."""

    who: str
    generation: int
    lines: List[bytes]


def merge(chunks: Sequence[Chunk]) -> Iterator[Said]:
    """All lines in one order: generation by generation, each between the supervisor's words about it."""
    placed: Dict[Tuple[int, int], List[Chunk]] = {}
    for chunk in chunks:
        begins = chunk.who == JOB and _BEGINS.search(chunk.lines[0])
        head, rest = (chunk.lines[:1], chunk.lines[1:]) if begins else ([], chunk.lines)
        for order, some in ((0, head), (1 if chunk.who != JOB else 2, rest)):
            if some:
                placed.setdefault((chunk.generation, order), []).append(chunk._replace(lines=some))
    for place in sorted(placed):
        yield from fold({chunk.who: chunk.lines for chunk in _joined(placed[place])})


def split(who: str, lines: Iterable[bytes], generation: int) -> List[Chunk]:
    """The supervisor's lines: those until a generation begins belong to the one before."""
    found = [Chunk(who, generation, [])]
    for line in lines:
        begins = _BEGINS.search(line)
        if begins:
            found.append(Chunk(who, int(begins.group(1)), []))
        found[-1].lines.append(line)
    return [chunk for chunk in found if chunk.lines]


def fold(lines: Mapping[str, Sequence[bytes]]) -> Iterator[Said]:
    """Each one's lines in their order; a line that others say, too, waits until they have come to it."""
    queues: Dict[str, Deque[bytes]] = {who: deque(said) for who, said in lines.items() if said}
    left = Counter(text for said in queues.values() for text in said)
    while queues:
        text, who = _next(queues, left)
        left[text] -= len(who)
        for each in who:
            queues[each].popleft()
            if not queues[each]:
                del queues[each]
        yield Said(tuple(who), text)


def _next(queues: Mapping[str, Deque[bytes]], left: Mapping[bytes, int]) -> Tuple[bytes, List[str]]:
    """The first line for which nobody has to wait; where each waits for another, the first of all."""
    seen: Dict[bytes, List[str]] = {}
    for who, said in queues.items():
        text = said[0]
        if left[text] == 1:
            return text, [who]
        seen.setdefault(text, []).append(who)
    for text, some in seen.items():
        elsewhere = (said for said in queues.values() if said[0] != text)
        if left[text] == len(some) or not any(text in said for said in elsewhere):
            return text, some
    return next(iter(seen.items()))


def _joined(chunks: Sequence[Chunk]) -> Iterator[Chunk]:
    """One chunk for each who: a rank's two files are one voice."""
    found: Dict[str, Chunk] = {}
    for chunk in chunks:
        if chunk.who in found:
            found[chunk.who].lines.extend(chunk.lines)
        else:
            found[chunk.who] = Chunk(chunk.who, chunk.generation, list(chunk.lines))
    return iter(found.values())


def prefix(who: Sequence[str]) -> str:
    """`gpu-1:0`, `gpu-1:0-7`, `gpu-1,gpu-2:0-7`, `16 hosts:0-7`."""
    if len(who) == 1:
        return who[0]
    by_host: Dict[str, List[str]] = {}
    for each in who:
        host, _, rank = each.partition(":")
        by_host.setdefault(host, []).append(rank)
    alike: Dict[str, List[str]] = {}
    for host, ranks in by_host.items():
        alike.setdefault(_ranges(ranks), []).append(host)
    return " ".join(_group(hosts, ranks) for ranks, hosts in alike.items())


def _group(hosts: Sequence[str], ranks: str) -> str:
    named = ",".join(hosts) if len(hosts) <= FEW else f"{len(hosts)} hosts"
    return f"{named}:{ranks}" if ranks else named


def _ranges(ranks: Iterable[str]) -> str:
    """`0-3,5`."""
    known = sorted({int(rank) for rank in ranks if rank.isdigit()})
    begins = [rank for rank in known if rank - 1 not in known]
    ends = [rank for rank in known if rank + 1 not in known]
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in zip(begins, ends))
