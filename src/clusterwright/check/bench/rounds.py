"""Who measures with whom, and when: each pair once, each host with one other at a time; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Pair = tuple[str, str]
Round = tuple[Pair, ...]


def round_robin(hosts: Sequence[str]) -> tuple[Round, ...]:
    """Every pair once, in N - 1 rounds (N for an odd number: in each of them another host rests).

    The circle method: the first host stays in its place, the others move on by one place a round.
    """
    places: list[str | None] = [*hosts, *([None] if len(hosts) % 2 else [])]
    found = []
    for _ in range(len(places) - 1):
        half = len(places) // 2
        across = zip(places[:half], reversed(places[half:]), strict=True)
        found.append(tuple((one, other) for one, other in across if one is not None and other is not None))
        places = [places[0], places[-1], *places[1:-1]]
    return tuple(found)


def apart(pairs: Iterable[Pair]) -> tuple[Round, ...]:
    """Any pairs in rounds in which no host is twice: each pair goes into the first round that has room for it."""
    rounds: list[list[Pair]] = []
    for one, other in dict.fromkeys(pairs):
        free = (each for each in rounds if not any({one, other} & {*pair} for pair in each))
        room = next(free, None)
        if room is None:
            rounds.append([(one, other)])
        else:
            room.append((one, other))
    return tuple(tuple(each) for each in rounds)
