"""Bounded store of the observations of one source: first sightings per signature and rank, and lines of witnesses."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace

from clusterwright.diagnose.judge.sighting import NormalValue, Observations, Position, Sighting, Witnessed
from clusterwright.diagnose.knowledge import Knowledge
from clusterwright.diagnose.mode import Mode
from clusterwright.diagnose.outputs import Finding, Normal
from clusterwright.diagnose.reading.line import Line
from clusterwright.diagnose.reading.source import LogSource
from clusterwright.diagnose.reading.takers import Match, expression

CONTEXT_LINES = 40  # before and after a line, for `near`
MAX_SIGHTINGS = 4  # of one signature by one rank,
MAX_CONTEXT_SIGHTINGS = 64  # and of one with `near`, which is tested at the end
RANKS = 4096  # ranks of one signature
MOST = 20_000  # sightings in one source; then only texts without a sighting are searched for
MAX_NORMAL = 1000  # normal values of one source
POSITIONS = 4096  # positions of one witness
QUOTE_LENGTH = 400  # characters of an evidence line

Key = tuple[str, int, str]


class SightingStore:
    """The observations of one source so far."""

    def __init__(self, source: LogSource, knowledge: Knowledge) -> None:
        self._source, self._witness_texts, self._context_texts = (
            source,
            knowledge.witness_texts,
            knowledge.context_texts,
        )
        self._likes = knowledge.likes
        self._sightings: dict[Key, list[Sighting]] = defaultdict(list)
        self._counts: Counter[Key] = Counter()
        self._number = 0
        self._texts: set[str] = set()  # of signatures with a sighting
        self._positions: dict[str, list[int]] = defaultdict(list)
        self._witnessed: dict[str, list[Witnessed]] = defaultdict(list)
        self._normal: list[NormalValue] = []

    def is_noted(self, text: str) -> bool:
        """Return whether the store takes another line with this text.

        False for a text that neither confirms a failure mode, nor rules it out, nor is the context of a signature, and
        for one with enough lines.
        """
        if text not in self._witness_texts:
            return False
        return len(self._witnessed[text]) < MAX_SIGHTINGS or (
            text in self._context_texts and len(self._positions[text]) < POSITIONS
        )

    def note(self, text: str, number: int, line: str) -> None:
        """Store a line with a text that confirms a failure mode, rules it out, or is the context of a signature.

        Does nothing if the store takes no more lines with this text (`is_noted`).
        """
        if not self.is_noted(text):
            return
        if len(self._witnessed[text]) < MAX_SIGHTINGS and self._matches_expression(text, line):
            self._witnessed[text].append(Witnessed(self._position(number), line.strip()[:QUOTE_LENGTH]))
        if text in self._context_texts:
            self._positions[text].append(number)

    def _matches_expression(self, text: str, line: str) -> bool:
        likes = self._likes.get(text, {""})
        return "" in likes or any(expression(like).search(line) for like in likes)

    def add(self, mode: Mode, signature: int, names: dict[str, str], line: Line, number: int) -> None:
        """Count a line that matched a signature of a failure mode; store it with rank, host, time and named values.

        Beyond a limit per mode, signature and rank, lines are only counted.
        """
        key = (mode.id, signature, line.parts.rank)
        self._counts[key] += 1
        if len(self._sightings[key]) >= (
            MAX_CONTEXT_SIGHTINGS if mode.signatures[signature].near else MAX_SIGHTINGS
        ):
            return
        stamp = line.moment
        sighting = Sighting(
            mode,
            signature,
            self._position(number),
            line.text.strip()[:QUOTE_LENGTH],
            rank=line.parts.rank or self._source.rank,
            host=line.parts.host or self._source.host,
            seconds=stamp.seconds if stamp else None,
            clock=self._clock(stamp.clock) if stamp else "",
            names=names,
        )
        self._sightings[key].append(sighting)
        self._number += 1
        self._texts.add(sighting.has)

    def add_finding(self, match: Match, finding: Finding) -> None:
        """Store a finding that matched a signature; of many matches, those beyond MAX_SIGHTINGS are only counted."""
        row, key = finding.row, (match.mode.id, match.signature, finding.row.rank)
        self._counts[key] += 1
        if len(self._sightings[key]) < MAX_SIGHTINGS:
            host = match.names.get("host") or row.host or self._source.host
            position, quote = self._position(row.number), row.text.strip()[:QUOTE_LENGTH]
            sighting = Sighting(
                match.mode, match.signature, position, quote, row.rank, host, names=match.names
            )
            self._sightings[key].append(sighting)

    def add_normal(self, normal: Normal) -> None:
        """Store a value within its normal range; dropped if there are MAX_NORMAL of the source."""
        if len(self._normal) < MAX_NORMAL:
            text = normal.row.text.strip()[:QUOTE_LENGTH]
            self._normal.append(NormalValue(self._position(normal.row.number), text, normal.sentence))

    def saturated_texts(self) -> set[str]:
        """Return texts that need not be searched for any more: those with sightings, once there are MOST."""
        return self._texts if self._number >= MOST else set()

    def observations(self, last_lines: list[tuple[int, tuple[str, ...]]]) -> Observations:
        """Return all observations, with the last error lines."""
        return Observations(
            tuple(self._iter_sightings()),
            {text: tuple(lines) for text, lines in self._witnessed.items() if lines},
            tuple((self._position(number), texts) for number, texts in last_lines),
            normal=tuple(self._normal),
        )

    def _iter_sightings(self) -> Iterable[Sighting]:
        for key, sightings in self._sightings.items():
            matches = [sighting for sighting in sightings if self._has_context(sighting)][:MAX_SIGHTINGS]
            for number, sighting in enumerate(matches):
                yield (
                    replace(sighting, count=self._counts[key] - len(matches) + 1) if number == 0 else sighting
                )

    def _has_context(self, sighting: Sighting) -> bool:
        context = sighting.mode.signatures[sighting.signature].near
        return not context or any(self._is_nearby(text, sighting.position.line) for text in context)

    def _is_nearby(self, text: str, number: int) -> bool:
        numbers = self._positions.get(text, [])
        index = bisect_left(numbers, number - CONTEXT_LINES)
        return index < len(numbers) and numbers[index] <= number + CONTEXT_LINES

    def _position(self, number: int) -> Position:
        return Position(self._source.name, number, self._source.group, self._source.order)

    def _clock(self, clock: str) -> str:
        return f"boot {self._source.name}" if clock == "boot" else clock
