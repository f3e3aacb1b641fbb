"""All sightings of one mode, with what confirms them or rules them out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from clusterwright.diagnose.judge.sighting import Observations, Position, Sighting, Witnessed
from clusterwright.diagnose.mode import Mode, Witness

GENERAL = 0.45  # a mode with `certain` up to this is a catch-all


@dataclass(frozen=True, slots=True)
class Case:
    """One failure mode with its sightings (matching lines), earliest first, and lines for or against it."""

    mode: Mode
    role: str
    sightings: tuple[Sighting, ...]
    places: frozenset[Position]
    ranks: frozenset[str]  # ranks that logged the mode
    particular: int  # specificity of its best signature
    confirmed: tuple[Witnessed, ...] = ()
    doubted: bool = False

    @property
    def first_sighting(self) -> Sighting:
        """Return the earliest sighting, as far as its log has times."""
        return self.sightings[0]

    @property
    def count(self) -> int:
        """Return how often lines of all logs matched the failure mode: the sum over its sightings."""
        return sum(sighting.count for sighting in self.sightings)


def cases(observations: Observations) -> list[Case]:
    """Return a case for each failure mode and role (root, cascade and others) that has sightings."""
    grouped: dict[tuple[str, str], list[Sighting]] = {}
    for sighting in observations.sightings:
        grouped.setdefault((sighting.mode.id, sighting.role), []).append(sighting)
    mode_ids = {sighting.mode.id for sighting in observations.sightings}
    result = []
    for (_, role), sightings in grouped.items():
        mode = sightings[0].mode
        result.append(
            Case(
                mode,
                role,
                tuple(sorted(sightings, key=_when)),
                frozenset(sighting.position for sighting in sightings),
                frozenset(sighting.rank or sighting.position.source for sighting in sightings),
                max(_specificity(sighting) for sighting in sightings),
                tuple(_lines(mode.confirmed_by, observations, mode_ids, sightings[0].position)),
                any(_is_witnessed(witness, observations, mode_ids) for witness in mode.ruled_out_by),
            )
        )
    return result


def _specificity(sighting: Sighting) -> int:
    """Return a number that is higher the more specific the signature of a sighting is.

    It adds the length of its text, its named values, and whether it has a kind and a context.
    """
    signature = sighting.mode.signatures[sighting.signature]
    return len(signature.has) + 4 * len(sighting.names) + 4 * bool(signature.kind) + 12 * bool(signature.near)


def _when(sighting: Sighting) -> tuple[float, str, int, int]:
    position = sighting.position
    return (
        sighting.seconds if sighting.seconds is not None else float("inf"),
        position.group,
        position.order,
        position.line,
    )


def _is_witnessed(witness: Witness, observations: Observations, mode_ids: Iterable[str]) -> bool:
    return witness.mode in mode_ids if witness.mode else bool(_matching_lines(witness, observations))


def _matching_lines(witness: Witness, observations: Observations) -> list[Witnessed]:
    """Return lines that contain the text of the witness, a condition that confirms or rules out a failure mode.

    If the witness has an expression, only those that match it.
    """
    lines = observations.witnessed.get(witness.has, ())
    return [line for line in lines if not witness.like or re.search(witness.like, line.text)]


def _lines(
    witnesses: tuple[Witness, ...], observations: Observations, mode_ids: set[str], position: Position
) -> Iterable[Witnessed]:
    for witness in witnesses:
        if witness.mode in mode_ids:
            sighting = next(
                sighting for sighting in observations.sightings if sighting.mode.id == witness.mode
            )
            yield Witnessed(sighting.position, sighting.text)
        elif witness.has and (matches := _matching_lines(witness, observations)):
            yield _closest(matches, position)


def _closest(lines: list[Witnessed], position: Position) -> Witnessed:
    """Return the last line before a position in its log, such as the innermost frame of a traceback; else the first."""
    earlier = [
        line for line in lines if same_log(line.position, position) and line.position.line < position.line
    ]
    return earlier[-1] if earlier else lines[0]


def is_before(sighting: Sighting, other_sighting: Sighting) -> bool | None:
    """Return whether one sighting is clearly before the other; None if that is unknown or they are too close."""
    if (
        sighting.seconds is not None
        and other_sighting.seconds is not None
        and sighting.clock == other_sighting.clock
    ):
        if abs(sighting.seconds - other_sighting.seconds) > CLOSE_S:
            return sighting.seconds < other_sighting.seconds
        if not same_log(sighting.position, other_sighting.position):
            return None
    if same_log(sighting.position, other_sighting.position):
        line_key, other_line_key = (
            (sighting.position.order, sighting.position.line),
            (other_sighting.position.order, other_sighting.position.line),
        )
        if line_key[0] != other_line_key[0] or abs(line_key[1] - other_line_key[1]) > CLOSE_LINES:
            return line_key < other_line_key
    return None


CLOSE_S = 1.5  # seconds; many ranks log one failure within a second or so
CLOSE_LINES = 60  # lines; a traceback and what is printed with it


def same_log(position: Position, other_position: Position) -> bool:
    """Return whether both positions are in one log, rotated or not."""
    return (
        position.group == other_position.group
        if position.group or other_position.group
        else position.source == other_position.source
    )


def votes(sightings: Iterable[Sighting], name: str) -> Counter[str]:
    """Return the number of sightings by the value of a field in them, each rank counted once."""
    pairs = {
        (sighting.rank or sighting.position.source, sighting.names[name])
        for sighting in sightings
        if name in sighting.names
    }
    return Counter(value for _, value in pairs)
