"""A name that is used, but never declared."""

from __future__ import annotations

from collections.abc import Collection

from clusterwright.spec.rules._clash import Clash, In


def unknown(
    who: str, what: str, name: str, known: Collection[str], at: tuple[tuple[str | int, ...] | In, ...]
) -> Clash:
    """The clash, with the name that is probably meant."""
    from difflib import get_close_matches  # noqa: PLC0415 (only for a file that is wrong)

    close = get_close_matches(name, list(known), n=1)
    others = f"it is one of {', '.join(list(known)[:8])}" if known else f"no {what} is declared; add one"
    mend = f"did you mean `{close[0]}`?" if close else others
    return Clash("unknown-name", f"{who} names {what} `{name}`, which is not declared", mend, at)
