"""The result of a rule, Clash (values that contradict each other), and helpers that several rules share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

from clusterwright.errors import unknown_name_fix
from clusterwright.i18n import _

if TYPE_CHECKING:  # a job is read without importing the models of the cluster file
    from clusterwright.config.cluster import Cluster


@dataclass(frozen=True, slots=True)
class In:
    """A path in one of the two files, for rules about both."""

    file: Literal["cluster", "job"]
    loc: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Clash:
    """Values that contradict each other: code, message, fix, and the path of each side."""

    code: str
    message: str
    fix: str
    locs: tuple[tuple[str | int, ...] | In, ...]
    hidden: bool = False  # the values are secrets: do not show them


def unknown(
    subject: str,
    kind: str,
    name: str,
    declared_names: Collection[str],
    locs: tuple[tuple[str | int, ...] | In, ...],
) -> Clash:
    """Return the clash of a name that is not declared, with the closest declared name as the fix.

    `kind` is the translated noun of what is named; `subject`, translated too, is what names it.
    """
    missing = "" if declared_names else _("no {kind} is declared; declare one", kind=kind)
    fix = unknown_name_fix(name, declared_names, missing)
    values = {"subject": subject, "kind": kind, "name": name}
    message = _("{subject} refers to {kind} `{name}`, which is not declared", **values)
    return Clash("unknown-name", message, fix, locs)


def names(items: Iterable[str]) -> str:
    """Format names as `a`, `b` and `c`, each in back-ticks."""
    *other_names, last = [f"`{name}`" for name in items] or [""]
    return _("{names} and {last}", names=", ".join(other_names), last=last) if other_names else last


def members(cluster: Cluster, role: Literal["control", "compute", "login"] | None = None) -> dict[str, str]:
    """Return the hosts of a role, or all hosts, each with the name of its node group."""
    return {
        host: name
        for name, group in cluster.nodes.items()
        if role in (None, group.role)
        for host in group.names()
    }


def loops(follows: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """Yield the cycles of a graph, each once, from its first name on: `a` to `b` to `a` is (a, b)."""
    visited_loops: set[frozenset[str]] = set()
    for start in follows:
        loop = _shortest_cycle(start, follows)
        if loop and frozenset(loop) not in visited_loops:
            visited_loops.add(frozenset(loop))
            yield loop


def _shortest_cycle(start: str, follows: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the shortest cycle through a name; empty if there is none."""
    routes: list[tuple[str, ...]] = [(start,)]
    visited: set[str] = set()
    for route in routes:  # grows during the loop: breadth first
        for name in follows.get(route[-1], ()):
            if name == start:
                return route
            if name not in visited:
                visited.add(name)
                routes.append((*route, name))
    return ()


def is_within(path: str, top: str) -> bool:
    """Return whether a path is `top` or below it."""
    return PurePosixPath(path).is_relative_to(top)
