"""Who waits for whom, from the dumps of several ranks; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from clusterwright.diagnose.flight.dump import Collective, Dump

FEW = 2  # ranks: more that are missing are rather dumps that nobody gave us
_PAIR = 2


def compared(dumps: Mapping[int, Dump]) -> list[str]:
    """A line for each finding: of each group the first collective in which its ranks differ."""
    groups = dict.fromkeys(group for one in dumps.values() for group in one.groups)
    return [f"flight: {line}" for group in groups for line in _of_group(group, dumps)]


def _of_group(group: str, dumps: Mapping[int, Dump]) -> Iterator[str]:
    called = {rank: one.groups[group] for rank, one in sorted(dumps.items()) if group in one.groups}
    numbers = sorted({number for each in called.values() for number in each})
    for number in numbers:
        here = {rank: each[number] for rank, each in called.items() if number in each}
        if line := _apart(group, number, here):
            yield line
            return
    last = numbers[-1]
    behind = [rank for rank, each in called.items() if max(each) < last]
    waits = {rank: each[last] for rank, each in called.items() if last in each and not each[last].done}
    if not waits:
        return
    one = next(iter(waits.values()))
    lost = sorted(_members(group, dumps) - set(called))
    if not 0 < len(lost) <= FEW:
        lost = []
    for rank in behind:
        number = max(called[rank])
        stands = f"; its last one is {_words(called[rank][number])} {number}"
        yield f"rank {rank} did not join {one.name} {last} of {group}{_at(one)}, in which {len(waits)} wait{stands}"
    for rank in lost:
        yield f"rank {rank} left no dump, and {len(waits)} wait in {one.name} {last} of {group}{_at(one)}"
    if not behind and not lost and len(waits) == len(called) >= _PAIR:
        yield f"all {len(waits)} ranks are in {one.name} {last} of {group}{_at(one)}, and none has finished it"


def _apart(group: str, number: int, here: Mapping[int, Collective]) -> str:
    """The line, where ranks called different collectives, or with other sizes."""
    kinds = Counter((each.name, each.sizes) for each in here.values())
    if len(kinds) < _PAIR:
        return ""
    odd = min(kinds, key=lambda kind: (kinds[kind], kind))
    usual = max(kinds, key=lambda kind: (kinds[kind], kind))
    ranks = [rank for rank, each in here.items() if (each.name, each.sizes) == odd]
    other = next(each for each in here.values() if (each.name, each.sizes) == usual)
    mine = here[ranks[0]]
    return (
        f"ranks {', '.join(map(str, ranks))} called {_words(mine)} {number} of {group}{_at(mine)}, "
        f"others {_words(other)}{_at(other)}"
    )


def _members(group: str, dumps: Mapping[int, Dump]) -> frozenset[int]:
    """The ranks that a group has, as any dump tells them."""
    description = group.rpartition(":")[2]
    told = (one.ranks.get(group) or one.ranks.get(description) for one in dumps.values())
    return next((ranks for ranks in told if ranks), frozenset())


def _words(one: Collective) -> str:
    return f"{one.name} {one.sizes}".strip()


def _at(one: Collective) -> str:
    return f" at {one.place}" if one.place else ""
