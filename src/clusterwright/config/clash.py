"""What a rule returns, and the parts that several rules build it from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

from clusterwright.errors import closest_name
from clusterwright.i18n import _

if TYPE_CHECKING:  # a job is read without the cluster's models
    from clusterwright.config.cluster import Cluster


@dataclass(frozen=True, slots=True)
class In:
    """A path in one of the two files, for rules about both."""

    file: Literal["cluster", "job"]
    loc: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Clash:
    """Values that cannot stand together: code, what is wrong, the fix, and the path of each side."""

    code: str
    message: str
    fix: str
    locs: tuple[tuple[str | int, ...] | In, ...]
    hidden: bool = False  # what stands there is not shown: it is a secret


def unknown(
    subject: str,
    kind: str,
    name: str,
    declared_names: Collection[str],
    locs: tuple[tuple[str | int, ...] | In, ...],
) -> Clash:
    """The clash, with the name that is probably meant."""
    suggestion = closest_name(name, declared_names)
    choices_text = (
        f"it is one of {', '.join(list(declared_names)[:8])}"
        if declared_names
        else f"no {kind} is declared; add one"
    )
    fix = _("did you mean `{suggestion}`?", suggestion=suggestion) if suggestion else choices_text
    return Clash(
        "unknown-name",
        _("{subject} names {kind} `{name}`, which is not declared", subject=subject, kind=kind, name=name),
        fix,
        locs,
    )


def names(items: Iterable[str]) -> str:
    """`a`, `b` and `c`."""
    quoted_names = [f"`{name}`" for name in items]
    return " and ".join(
        [", ".join(quoted_names[:-1]), quoted_names[-1]] if len(quoted_names) > 1 else quoted_names
    )


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
    visited_loops: set[frozenset[str]] = set()
    for start in follows:
        loop = _back_to(start, follows)
        if loop and frozenset(loop) not in visited_loops:
            visited_loops.add(frozenset(loop))
            yield loop


def _back_to(start: str, follows: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The shortest way from a name to itself; nothing where there is none."""
    routes: list[tuple[str, ...]] = [(start,)]
    visited: set[str] = set()
    for route in routes:  # grows while it is read: breadth first
        for name in follows.get(route[-1], ()):
            if name == start:
                return route
            if name not in visited:
                visited.add(name)
                routes.append((*route, name))
    return ()


def is_within(path: str, top: str) -> bool:
    """Whether a path is a folder or lies in it."""
    return PurePosixPath(path).is_relative_to(top)
