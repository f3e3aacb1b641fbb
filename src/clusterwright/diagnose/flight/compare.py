"""Find the ranks for which others wait, from the dumps of several ranks; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from clusterwright.diagnose.flight.dump import Collective, Dump

FEW = 2  # if more ranks are missing, their dumps were probably not collected
_PAIR = 2


def compared(dumps: Mapping[int, Dump]) -> list[str]:
    """Return lines about the first collective of each process group in which its ranks differ."""
    groups = dict.fromkeys(group for dump in dumps.values() for group in dump.groups)
    return [f"flight: {line}" for group in groups for line in _of_group(group, dumps)]


def _of_group(group: str, dumps: Mapping[int, Dump]) -> Iterator[str]:
    called = {rank: dump.groups[group] for rank, dump in sorted(dumps.items()) if group in dump.groups}
    numbers = sorted({number for by_number in called.values() for number in by_number})
    for number in numbers:
        by_rank = {rank: by_number[number] for rank, by_number in called.items() if number in by_number}
        if line := _mismatch(group, number, by_rank):
            yield line
            return
    last = numbers[-1]
    lagging_ranks = [rank for rank, by_number in called.items() if max(by_number) < last]
    waits = {
        rank: by_number[last]
        for rank, by_number in called.items()
        if last in by_number and not by_number[last].is_completed
    }
    if not waits:
        return
    collective = next(iter(waits.values()))
    missing_ranks = sorted(_members(group, dumps) - set(called))
    if not 0 < len(missing_ranks) <= FEW:
        missing_ranks = []
    for rank in lagging_ranks:
        number = max(called[rank])
        last_call = f"; its last one is {_describe(called[rank][number])} {number}"
        yield (
            f"rank {rank} did not join {collective.name} {last} of "
            f"{group}{_location(collective)}, in which {len(waits)} wait{last_call}"
        )
    for rank in missing_ranks:
        yield (
            f"rank {rank} left no dump, and {len(waits)} wait in "
            f"{collective.name} {last} of {group}{_location(collective)}"
        )
    if not lagging_ranks and not missing_ranks and len(waits) == len(called) >= _PAIR:
        yield (
            f"all {len(waits)} ranks are in {collective.name} {last} of "
            f"{group}{_location(collective)}, and none has finished it"
        )


def _mismatch(group: str, number: int, by_rank: Mapping[int, Collective]) -> str:
    """Return the line about ranks that called different collectives or sizes; empty if all agree."""
    kinds = Counter((collective.name, collective.sizes) for collective in by_rank.values())
    if len(kinds) < _PAIR:
        return ""
    odd = min(kinds, key=lambda kind: (kinds[kind], kind))
    usual = max(kinds, key=lambda kind: (kinds[kind], kind))
    ranks = [rank for rank, collective in by_rank.items() if (collective.name, collective.sizes) == odd]
    usual_collective = next(
        collective for collective in by_rank.values() if (collective.name, collective.sizes) == usual
    )
    odd_collective = by_rank[ranks[0]]
    return (
        f"ranks {', '.join(map(str, ranks))} called {_describe(odd_collective)} "
        f"{number} of {group}{_location(odd_collective)}, "
        f"others {_describe(usual_collective)}{_location(usual_collective)}"
    )


def _members(group: str, dumps: Mapping[int, Dump]) -> frozenset[int]:
    """Return the ranks of a process group, from the first dump that has them."""
    description = group.rpartition(":")[2]
    rank_sets = (dump.ranks.get(group) or dump.ranks.get(description) for dump in dumps.values())
    return next((ranks for ranks in rank_sets if ranks), frozenset())


def _describe(collective: Collective) -> str:
    return f"{collective.name} {collective.sizes}".strip()


def _location(collective: Collective) -> str:
    return f" at {collective.location}" if collective.location else ""
