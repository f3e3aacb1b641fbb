"""Loops among names that point at each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence


def loops(follows: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """Each loop once, from its first name on: `a` to `b` to `a` is (a, b)."""
    seen: set[frozenset[str]] = set()
    for start in follows:
        found = _back_to(start, follows)
        if found and frozenset(found) not in seen:
            seen.add(frozenset(found))
            yield found


def _back_to(start: str, follows: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The shortest way from a name to itself; nothing where there is none."""
    ways: list[tuple[str, ...]] = [(start,)]
    visited: set[str] = set()
    for way in ways:  # grows while it is read: breadth first
        for name in follows.get(way[-1], ()):
            if name == start:
                return way
            if name not in visited:
                visited.add(name)
                ways.append((*way, name))
    return ()
