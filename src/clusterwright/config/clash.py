"""What a rule returns, and the parts that several rules build it from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

from clusterwright.errors import did_you_mean

if TYPE_CHECKING:  # a job is read without the cluster's models
    from clusterwright.config.cluster import Cluster


@dataclass(frozen=True, slots=True)
class In:
    """A path in one of the two files, for rules about both."""

    file: Literal["cluster", "job"]
    loc: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Clash:
    """Values that cannot stand together: code, what is wrong, the mend, and the path of each side."""

    code: str
    message: str
    mend: str
    at: tuple[tuple[str | int, ...] | In, ...]
    hidden: bool = False  # what stands there is not shown: it is a secret


def unknown(
    who: str, what: str, name: str, known: Collection[str], at: tuple[tuple[str | int, ...] | In, ...]
) -> Clash:
    """The clash, with the name that is probably meant."""
    meant = did_you_mean(name, known)
    others = f"it is one of {', '.join(list(known)[:8])}" if known else f"no {what} is declared; add one"
    mend = f"did you mean `{meant}`?" if meant else others
    return Clash("unknown-name", f"{who} names {what} `{name}`, which is not declared", mend, at)


def names(found: Iterable[str]) -> str:
    """`a`, `b` and `c`."""
    shown = [f"`{name}`" for name in found]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def members(cluster: Cluster, role: Literal["control", "compute", "login"] | None = None) -> dict[str, str]:
    """Each host of that role, or every one, with the name of its group."""
    return {
        host: name
        for name, group in cluster.nodes.items()
        if role in (None, group.role)
        for host in group.names()
    }


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


def is_within(path: str, top: str) -> bool:
    """Whether a path is a folder or lies in it."""
    return PurePosixPath(path).is_relative_to(top)
