"""Find the ranks for which others wait, from the dumps of several ranks; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from clusterwright.diagnose.flight.dump import Collective, Dump

FEW = 2  # if more ranks are missing, their dumps were probably not collected
_PAIR = 2


def compared(
    dumps: Mapping[int, Dump], check: Callable[[], None] = lambda: None, *, is_complete: bool = True
) -> Iterator[str]:
    """Yield lines about the first collective of each process group in which its ranks differ.

    Also about ranks without a dump if `is_complete`: then no dump was left out, so these ranks have left none. The
    work is linear in the number of collectives; `check` may end it by an exception of its own.
    """
    calls: dict[str, dict[int, dict[int, Collective]]] = {}  # by group, sequence number, rank
    members: dict[str, frozenset[int]] = {}
    for rank, dump in sorted(dumps.items()):
        check()
        for group, by_number in dump.groups.items():
            by_rank = calls.setdefault(group, {})
            for number, collective in by_number.items():
                by_rank.setdefault(number, {})[rank] = collective
        for group, ranks in dump.ranks.items():
            if ranks and is_complete:
                members.setdefault(group, ranks)
    for group, by_rank in calls.items():
        check()
        ranks = members.get(group) or members.get(group.rpartition(":")[2]) or frozenset()
        yield from (f"flight: {line}" for line in _of_group(group, by_rank, ranks))


def _of_group(
    group: str, calls: Mapping[int, Mapping[int, Collective]], members: frozenset[int]
) -> Iterator[str]:
    numbers = sorted(calls)
    last_calls: dict[int, int] = {}  # the greatest number of each rank
    for number in numbers:
        if line := _mismatch(group, number, calls[number]):
            yield line
            return
        last_calls.update(dict.fromkeys(calls[number], number))
    last = numbers[-1]
    lagging_ranks = sorted(rank for rank, number in last_calls.items() if number < last)
    waits = {rank: collective for rank, collective in calls[last].items() if not collective.is_completed}
    if not waits:
        return
    collective = next(iter(waits.values()))
    missing_ranks = sorted(members - set(last_calls))
    if not 0 < len(missing_ranks) <= FEW:
        missing_ranks = []
    for rank in lagging_ranks:
        number = last_calls[rank]
        last_call = f"; its last one is {_describe(calls[number][rank])} {number}"
        yield (
            f"rank {rank} did not join {collective.name} {last} of "
            f"{group}{_location(collective)}, in which {len(waits)} wait{last_call}"
        )
    for rank in missing_ranks:
        yield (
            f"rank {rank} left no dump, and {len(waits)} wait in "
            f"{collective.name} {last} of {group}{_location(collective)}"
        )
    if not lagging_ranks and not missing_ranks and len(waits) == len(last_calls) >= _PAIR:
        yield (
            f"all {len(waits)} ranks are in {collective.name} {last} of "
            f"{group}{_location(collective)}, and none has finished it"
        )


def _mismatch(group: str, number: int, by_rank: Mapping[int, Collective]) -> str:
    """Return a line of text if ranks called different collectives or sizes in one place: which ranks called the rarest.

    Empty if all agree.
    """
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


def _describe(collective: Collective) -> str:
    return f"{collective.name} {collective.sizes}".strip()


def _location(collective: Collective) -> str:
    return f" at {collective.location}" if collective.location else ""
