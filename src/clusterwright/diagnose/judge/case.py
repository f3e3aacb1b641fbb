"""All sightings of one mode, and what they say together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from clusterwright.diagnose.judge.sighting import Known, Place, Sighting, Witnessed
from clusterwright.diagnose.mode import Mode, Witness

GENERAL = 0.45  # `certain` up to which a mode is one that takes what no other does


@dataclass(frozen=True, slots=True)
class Case:
    """One mode with its sightings, first ones first, and the lines that confirm it or rule it out."""

    mode: Mode
    role: str
    sightings: tuple[Sighting, ...]
    places: frozenset[Place]
    ranks: frozenset[str]  # who says so
    particular: (
        int  # how much of a line it was known by: the longest text, and the names that were read from it
    )
    confirmed: tuple[Witnessed, ...] = ()
    doubted: bool = False

    @property
    def first(self) -> Sighting:
        """The earliest, as far as its own log tells."""
        return self.sightings[0]

    @property
    def count(self) -> int:
        """Lines in all."""
        return sum(each.count for each in self.sightings)


def cases(known: Known) -> list[Case]:
    """One for each mode and role that was seen."""
    grouped: dict[tuple[str, str], list[Sighting]] = {}
    for each in known.sightings:
        grouped.setdefault((each.mode.id, each.role), []).append(each)
    there = {each.mode.id for each in known.sightings}
    made = []
    for (_, role), sightings in grouped.items():
        mode = sightings[0].mode
        made.append(
            Case(
                mode,
                role,
                tuple(sorted(sightings, key=_when)),
                frozenset(each.place for each in sightings),
                frozenset(each.rank or each.place.source for each in sightings),
                max(_knows(each) for each in sightings),
                tuple(_lines(mode.confirmed_by, known, there)),
                any(_holds(each, known, there) for each in mode.ruled_out_by),
            )
        )
    return made


def _knows(sighting: Sighting) -> int:
    """How much of a line, and of what is about it, its signature asks for."""
    asked = sighting.mode.signatures[sighting.signature]
    return len(asked.has) + 4 * len(sighting.names) + 4 * bool(asked.kind) + 12 * bool(asked.near)


def _when(sighting: Sighting) -> tuple[float, str, int, int]:
    at = sighting.place
    return (sighting.seconds if sighting.seconds is not None else float("inf"), at.group, at.order, at.line)


def _holds(witness: Witness, known: Known, there: Iterable[str]) -> bool:
    return witness.mode in there if witness.mode else bool(_seen(witness, known))


def _seen(witness: Witness, known: Known) -> list[Witnessed]:
    """The lines that hold its text, and match its expression where it has one."""
    lines = known.witnessed.get(witness.has, ())
    return [each for each in lines if not witness.like or re.search(witness.like, each.text)]


def _lines(witnesses: tuple[Witness, ...], known: Known, there: set[str]) -> Iterable[Witnessed]:
    for each in witnesses:
        if each.mode in there:
            first = next(one for one in known.sightings if one.mode.id == each.mode)
            yield Witnessed(first.place, first.text)
        elif each.has and (seen := _seen(each, known)):
            yield seen[0]


def before(one: Sighting, other: Sighting) -> bool | None:
    """Whether one came clearly before the other; nothing where that cannot be told, or is too close."""
    if one.seconds is not None and other.seconds is not None and one.clock == other.clock:
        if abs(one.seconds - other.seconds) > CLOSE_S:
            return one.seconds < other.seconds
        if not same_log(one.place, other.place):
            return None
    if same_log(one.place, other.place):
        mine, others = (one.place.order, one.place.line), (other.place.order, other.place.line)
        if mine[0] != others[0] or abs(mine[1] - others[1]) > CLOSE_LINES:
            return mine < others
    return None


CLOSE_S = 1.5  # one failure is written by many ranks within a second or so
CLOSE_LINES = 60  # a traceback and what is printed with it


def same_log(one: Place, other: Place) -> bool:
    """Whether both places are in one log, rotated or not."""
    return one.group == other.group if one.group or other.group else one.source == other.source


def votes(sightings: Iterable[Sighting], name: str) -> Counter[str]:
    """What the sightings name, each rank once."""
    said = {(each.rank or each.place.source, each.names[name]) for each in sightings if name in each.names}
    return Counter(value for _, value in said)
