"""Words that several rules say alike."""

from __future__ import annotations

from collections.abc import Iterable


def names(found: Iterable[str]) -> str:
    """`a`, `b` and `c`."""
    shown = [f"`{name}`" for name in found]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def count(number: int, thing: str) -> str:
    """One host, 2 hosts."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
