"""What is planted when, from a seed alone; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from clusterwright.lab.chaos.kind import Kind

EARLIEST, LATEST = 0.2, 0.6  # parts of the training: past its first steps, and with some left to lose


@dataclass(frozen=True, slots=True)
class Planned:
    """One fault of a campaign: the training has done that share of its steps, and `which` chooses among equal hosts."""

    number: int
    kind: Kind
    at: float
    which: float


def draw(seed: int, count: int, kinds: Mapping[str, Kind]) -> tuple[Planned, ...]:
    """The same for the same seed, on any machine; every kind as often as any other, give or take one."""
    dice = Random(seed)  # noqa: S311 (a game that can be repeated, and no secret)
    names = sorted(kinds)
    order: list[str] = []
    while len(order) < count:
        order += dice.sample(names, len(names))
    return tuple(
        Planned(number, kinds[name], dice.uniform(EARLIEST, LATEST), dice.random())
        for number, name in enumerate(order[:count], start=1)
    )


def one_of(hosts: Sequence[str], which: float) -> str:
    """The host that `which` (0 to 1) means."""
    return sorted(hosts)[int(which * len(hosts))]
