"""A name that is used, but never declared."""

from __future__ import annotations

from collections.abc import Collection

from clusterwright.config.rules._clash import Clash, In
from clusterwright.errors import did_you_mean


def unknown(
    who: str, what: str, name: str, known: Collection[str], at: tuple[tuple[str | int, ...] | In, ...]
) -> Clash:
    """The clash, with the name that is probably meant."""
    meant = did_you_mean(name, known)
    others = f"it is one of {', '.join(list(known)[:8])}" if known else f"no {what} is declared; add one"
    mend = f"did you mean `{meant}`?" if meant else others
    return Clash("unknown-name", f"{who} names {what} `{name}`, which is not declared", mend, at)
