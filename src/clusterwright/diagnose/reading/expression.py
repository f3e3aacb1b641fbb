"""Search lines with the expressions of failure modes so that a crafted line costs about as much as another one."""

from __future__ import annotations

import re
from functools import cache

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
        """Return the first match of the expression in the text."""
        if self._alternatives and not any(_are_in_order(parts, text) for parts in self._alternatives):
            return None
        return self._pattern.search(text)


@cache
def expression(like: str) -> Expression:
    """Return the expression of a failure mode, compiled once."""
    return Expression(like)


def _compiled(flags: str, parts: list[str]) -> list[re.Pattern[str]]:
    """Compile the parts that match at least one character."""
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
    """Return the alternatives of an expression, each split at `.*`, outside of groups and classes."""
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
    """Return the index of the bracket that closes a character class."""
    position = begin + (2 if like[begin + 1] == "^" else 1)
    position += like[position] == "]"  # the first one is a character of the class
    while like[position] != "]":
        position += 2 if like[position] == "\\" else 1
    return position
