"""Match lines in which a known text was found with the signatures that have this text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from clusterwright.diagnose.knowledge import Knowledge
from clusterwright.diagnose.mode import KINDS, Mode, Signature
from clusterwright.diagnose.reading.expression import expression
from clusterwright.diagnose.reading.line import Line

_KIND = re.compile(rf"({'|'.join(KINDS)}):")
CHARS_BEFORE, CHARS_AFTER = 300, 1200  # characters around a text in which its expression is searched
_OF_LOGS = {"", "log", "kernel", "slurm"}  # kinds of lines that a source of kind `log` may contain


class Match(NamedTuple):
    """A match of a signature: its mode, its number in the mode, and the named values of the line."""

    mode: Mode
    signature: int
    names: dict[str, str]


class Takers:
    """The signatures that apply to a source of one kind, by text; expressions are compiled on first use."""

    def __init__(self, knowledge: Knowledge, kind: str) -> None:
        self._knowledge, self._kind = knowledge, kind
        self._compiled: dict[str, list[tuple[Mode, int, str, Callable[[Line], dict[str, str] | None]]]] = {}

    def matches(self, text: str, line: Line) -> list[Match]:
        """Return the matches of the line with the signatures that have the text.

        In a line of level INFO or DEBUG only signatures that expect such lines match.
        """
        if text not in self._compiled:
            self._compiled[text] = self._make(text)
        matches = []
        for mode, number, kind, names in self._compiled[text]:
            if line.informs and not _expects_information(mode.signatures[number]):
                continue
            if self._is_of(kind, line) and (values := names(line)) is not None:
                matches.append(Match(mode, number, values))
        return matches

    def matches_of_finding(self, finding: str) -> list[Match]:
        """Return the matches of a finding in the output of a command with the signatures of kind `output`."""
        matches = []
        for mode, number, signature in self._knowledge.of_outputs:
            hit = expression(signature.like or ".").search(finding) if signature.has in finding else None
            if hit:
                names = {name: value or "" for name, value in hit.groupdict().items()}
                matches.append(Match(mode, number, names))
        return matches

    def _make(self, text: str) -> list[tuple[Mode, int, str, Callable[[Line], dict[str, str] | None]]]:
        matchers = []
        for name, number in self._knowledge.signatures.get(text, ()):
            mode = self._knowledge[name]
            signature = mode.signatures[number]
            matchers.append((mode, number, signature.kind, _matcher(signature)))
        return matchers

    def _is_of(self, kind: str, line: Line) -> bool:
        if not kind or kind == self._kind:
            return True
        match = _KIND.match(line.text)  # lines of saved records begin with their kind
        return match[1] == kind if match else self._kind == "log" and kind in _OF_LOGS


def _expects_information(signature: Signature) -> bool:
    return "INFO" in signature.has or "INFO" in signature.like


def _matcher(signature: Signature) -> Callable[[Line], dict[str, str] | None]:
    if not signature.like:
        return lambda _: {}
    pattern = expression(signature.like)

    def names(line: Line) -> dict[str, str] | None:
        """Return the named values of the line; an anchored expression may also match after the launcher's prefix."""
        text = about(line.text, signature.has)
        hit = pattern.search(about(line.own_text, signature.has))
        if hit is None and pattern.is_anchored and text in line.own_text:
            text = about(line.parts.body, signature.has)
            hit = pattern.search(text)
        if hit is None:
            return None
        spans = {name: hit.span(name) for name in hit.groupdict()}
        return {name: text[begin:end] for name, (begin, end) in spans.items() if end > begin}

    return names


def about(text: str, has: str) -> str:
    """Return the part of a long line around the text `has`, to bound the time of regular expressions.

    A line of at most CHARS_BEFORE + CHARS_AFTER is returned whole.
    """
    if len(text) <= CHARS_BEFORE + CHARS_AFTER:
        return text
    start = max(0, text.find(has))
    return text[max(0, start - CHARS_BEFORE) : start + CHARS_AFTER]
