"""Many texts are looked for at once.

Small blocks are searched text by text, which needs nothing; large ones by an automaton that finds all in one pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

SMALL = 128 << 10  # bytes: up to here the automaton's making and import cost more than they save


class Scanner:
    """Finds places of known texts in blocks of bytes."""

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts
        self._bytes = [text.encode() for text in texts]

    @cached_property
    def _automaton(self) -> Any:
        from ahocorasick_rs import BytesAhoCorasick, Implementation

        # The whole table of states: 300 MB/s on one core, where what it chooses by itself did 200.
        return BytesAhoCorasick(self._bytes, implementation=Implementation.DFA)

    def without(self, texts: set[str]) -> Scanner:
        """One that looks for all others."""
        return Scanner([text for text in self._texts if text not in texts])

    def places(self, block: bytes) -> Iterator[int]:
        """Where in the block a text begins, in order; of texts that overlap, one at least."""
        if len(block) > SMALL:
            yield from (start for _, start, _ in self._automaton.find_matches_as_indexes(block))
            return
        found = set()
        for text in self._bytes:
            at = block.find(text)
            while at >= 0:
                found.add(at)
                at = block.find(text, at + 1)
        yield from sorted(found)

    def texts_in(self, line: bytes, *, large: bool) -> list[str]:
        """All texts that the line holds; `large` where its block was, so that the automaton is there already."""
        if large:
            hits = {which for which, _, _ in self._automaton.find_matches_as_indexes(line, overlapping=True)}
            return [self._texts[which] for which in sorted(hits)]
        return [text for text, data in zip(self._texts, self._bytes, strict=True) if data in line]
