"""What is kept of a source: the first sightings of each signature by each rank, and where witnesses are."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace

from clusterwright.diagnose.judge.sighting import Known, Place, Sighting, Witnessed
from clusterwright.diagnose.knowledge import Knowledge
from clusterwright.diagnose.mode import Mode
from clusterwright.diagnose.reading.line import Line
from clusterwright.diagnose.reading.source import Source

NEAR = 40  # lines
KEPT = 4  # sightings of one signature by one rank,
KEPT_NEAR = 64  # and where it is to be seen later whether another text is near
RANKS = 4096  # of one signature
MOST = 20_000  # sightings in one source; from then on only what was not seen yet is looked for
POSITIONS = 4096  # of one witness
SHOWN = 400  # characters of a line that is quoted

Key = tuple[str, int, str]


class Kept:
    """Of one source."""

    def __init__(self, source: Source, knowledge: Knowledge) -> None:
        self._source, self._others, self._near = source, knowledge.others, knowledge.near
        self._likes = knowledge.likes
        self._sightings: dict[Key, list[Sighting]] = defaultdict(list)
        self._counts: Counter[Key] = Counter()
        self._number = 0
        self._texts: set[str] = set()  # of signatures that were seen
        self._positions: dict[str, list[int]] = defaultdict(list)
        self._witnessed: dict[str, list[Witnessed]] = defaultdict(list)

    def is_noted(self, text: str) -> bool:
        """Whether one more line with a text would be noted."""
        if text not in self._others:
            return False
        return len(self._witnessed[text]) < KEPT or (
            text in self._near and len(self._positions[text]) < POSITIONS
        )

    def note(self, text: str, number: int, line: str) -> None:
        """A line holds a witness's text, or one that is asked for near a signature."""
        if not self.is_noted(text):
            return
        if len(self._witnessed[text]) < KEPT and self._is_meant(text, line):
            self._witnessed[text].append(Witnessed(self._place(number), line.strip()[:SHOWN]))
        if text in self._near:
            self._positions[text].append(number)

    def _is_meant(self, text: str, line: str) -> bool:
        likes = self._likes.get(text, {""})
        return "" in likes or any(re.search(like, line) for like in likes)

    def keep(self, mode: Mode, signature: int, names: dict[str, str], line: Line, number: int) -> None:
        """A line tells of a mode."""
        key = (mode.id, signature, line.said.rank)
        self._counts[key] += 1
        if len(self._sightings[key]) >= (KEPT_NEAR if mode.signatures[signature].near else KEPT):
            return
        stamp = line.moment
        sighting = Sighting(
            mode,
            signature,
            self._place(number),
            line.text.strip()[:SHOWN],
            rank=line.said.rank or self._source.rank,
            host=line.said.host or self._source.host,
            seconds=stamp.seconds if stamp else None,
            clock=self._clock(stamp.clock) if stamp else "",
            names=names,
        )
        self._sightings[key].append(sighting)
        self._number += 1
        self._texts.add(sighting.has)

    def told_all(self) -> set[str]:
        """Texts that need no longer be looked for, once there is more than enough: those that were seen."""
        return self._texts if self._number >= MOST else set()

    def known(self, words: list[tuple[int, tuple[str, ...]]]) -> Known:
        """All of it, with the last words."""
        return Known(
            tuple(self._told()),
            {text: tuple(lines) for text, lines in self._witnessed.items() if lines},
            tuple((self._place(number), texts) for number, texts in words),
        )

    def _told(self) -> Iterable[Sighting]:
        for key, kept in self._sightings.items():
            near = [each for each in kept if self._has_near(each)][:KEPT]
            for number, each in enumerate(near):
                yield replace(each, count=self._counts[key] - len(near) + 1) if number == 0 else each

    def _has_near(self, sighting: Sighting) -> bool:
        near = sighting.mode.signatures[sighting.signature].near
        return not near or any(self._is_near(text, sighting.place.line) for text in near)

    def _is_near(self, text: str, number: int) -> bool:
        numbers = self._positions.get(text, [])
        at = bisect_left(numbers, number - NEAR)
        return at < len(numbers) and numbers[at] <= number + NEAR

    def _place(self, number: int) -> Place:
        return Place(self._source.name, number, self._source.group, self._source.order)

    def _clock(self, clock: str) -> str:
        return f"boot {self._source.name}" if clock == "boot" else clock
