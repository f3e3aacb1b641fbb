"""Match lines in which a known text was found with the signatures that have this text.

A crafted line costs about as much as another one: the search of an expression takes bounded time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from clusterwright.diagnose.knowledge import Knowledge
from clusterwright.diagnose.mode import KINDS, Mode, Signature
from clusterwright.diagnose.reading.line import Line

_KIND = re.compile(rf"({'|'.join(KINDS)}):")
CHARS_BEFORE, CHARS_AFTER = 300, 1200  # characters around a text in which its expression is searched
_OF_LOGS = {"", "log", "kernel", "slurm"}  # kinds of lines that a source of kind `log` may contain
_FLAGS = re.compile(r"\(\?[aimsx]+\)")
_GAP = re.compile(r"\.[*+]\??")
# An expression that begins with a run of one kind of character, bare or as a named group.
_RUN = re.compile(
    r"(?P<group>\(\?P<\w+>)?(?P<kind>\\[wSd]|\[[^\]\\]*(?:\\.[^\]\\]*)*\])[+*](?(group)\))(?![?*+{])"
)


class Expression:
    """A regular expression of a failure mode whose search takes bounded time; it matches what `re.search` would match.

    `a.*b.*c` tries each `b` after each `a`, and each `c` after these: so its parts are first searched once in their
    order. A run of characters is entered only at its start, since a match from its middle is also one from its start.
    """

    def __init__(self, like: str) -> None:
        flags = match[0] if (match := _FLAGS.match(like)) else ""
        alternatives = _split(like[len(flags) :])
        self._pattern = re.compile(flags + _entered_at_start(like[len(flags) :]))
        self._alternatives = (
            [] if sum(map(len, alternatives)) == 1 else [_compiled(flags, parts) for parts in alternatives]
        )
        self.is_anchored = "^" in like or "\\A" in like

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match of the expression in the text, or None; a quick test of fixed words goes first."""
        if self._alternatives and not any(_are_in_order(parts, text) for parts in self._alternatives):
            return None
        return self._pattern.search(text)


@cache
def expression(like: str) -> Expression:
    """Return the expression of a failure mode, compiled once."""
    return Expression(like)


def _compiled(flags: str, parts: list[str]) -> list[re.Pattern[str]]:
    """Return the parts as compiled expressions, without those that match an empty text."""
    patterns = [re.compile(flags + part) for part in parts]
    return [pattern for pattern in patterns if not pattern.fullmatch("")]


def _are_in_order(parts: list[re.Pattern[str]], text: str) -> bool:
    begin = 0
    for part in parts:
        match = part.search(text, begin)
        if match is None:
            return False
        begin = match.start() + 1
    return True


def _entered_at_start(like: str) -> str:
    match = _RUN.match(like)
    if match is None:
        return like
    begin = match.start("kind")
    return f"{like[:begin]}(?<!{match['kind']}){like[begin:]}"


def _split(like: str) -> list[list[str]]:
    """Split a regular expression into its alternatives (at `|`), and each of them at `.*`.

    Signs within groups and character classes do not split.
    """
    alternatives: list[list[str]] = [[]]
    begin = position = depth = 0
    while position < len(like):
        sign = like[position]
        gap = _GAP.match(like, position) if depth == 0 else None
        if gap or (sign == "|" and depth == 0):
            alternatives[-1].append(like[begin:position])
            begin = position = gap.end() if gap else position + 1
            if not gap:
                alternatives.append([])
            continue
        if sign == "[":
            position = _end_of_class(like, position)
        depth += {"(": 1, ")": -1}.get(sign, 0)
        position += 2 if sign == "\\" else 1
    alternatives[-1].append(like[begin:])
    return alternatives


def _end_of_class(like: str, begin: int) -> int:
    """Return the index of the `]` that closes the character class which begins at index `begin` of an expression."""
    position = begin + (2 if like[begin + 1] == "^" else 1)
    position += like[position] == "]"  # the first one is a character of the class
    while like[position] != "]":
        position += 2 if like[position] == "\\" else 1
    return position


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
        """Return the values of the expression's named groups in the line; None if the line does not match.

        An anchored expression may also match after the launcher's prefix. Groups without text are left out.
        """
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
