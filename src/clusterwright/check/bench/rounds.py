"""Schedule pairs of hosts into rounds, each host with one other at a time; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Pair = tuple[str, str]
Round = tuple[Pair, ...]


def round_robin(hosts: Sequence[str]) -> tuple[Round, ...]:
    """Return every pair once, in N - 1 rounds (N for an odd number: in each round another host rests).

    Circle method: the first host stays in its place, the others move on by one place a round.
    """
    places: list[str | None] = [*hosts, *([None] if len(hosts) % 2 else [])]
    rounds = []
    for _ in range(len(places) - 1):
        half = len(places) // 2
        pairs = zip(places[:half], reversed(places[half:]), strict=True)
        rounds.append(tuple((host, peer) for host, peer in pairs if host is not None and peer is not None))
        places = [places[0], places[-1], *places[1:-1]]
    return tuple(rounds)


def disjoint_rounds(pairs: Iterable[Pair]) -> tuple[Round, ...]:
    """Schedule any pairs into rounds without a host twice: each pair goes into the first round with both hosts free."""
    rounds: list[list[Pair]] = []
    for host, peer in dict.fromkeys(pairs):
        free = (group for group in rounds if not any({host, peer} & {*pair} for pair in group))
        slot = next(free, None)
        if slot is None:
            rounds.append([(host, peer)])
        else:
            slot.append((host, peer))
    return tuple(tuple(group) for group in rounds)
