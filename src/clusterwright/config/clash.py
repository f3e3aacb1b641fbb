"""The result of a rule, Clash (values that contradict each other), and helpers that several rules share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
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
    needs: tuple[
        tuple[str | int, ...], ...
    ] = ()  # further fields of the file, with whose values alone it holds
    is_presence: bool = False  # that all sides are set is the contradiction, whatever their values


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
    """Format names as `a`, `b` and `c`, each in back-ticks; empty without names."""
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
    """Yield the cycles of a graph, each once, from its first name on: `a` to `b` to `a` is (a, b).

    These are the shortest cycle through each name that is in no earlier one.
    """
    in_loops: set[str] = set()
    edges = _without_ends(follows)
    for start in edges:
        loop = () if start in in_loops else _shortest_cycle(start, edges)
        if loop:
            in_loops.update(loop)
            yield loop


def _without_ends(follows: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return the graph without names from which no cycle is reached, of which a chain has thousands.

    Empty without cycles.
    """
    predecessors: dict[str, list[str]] = {}
    for name, followers in follows.items():
        for follower in followers:
            predecessors.setdefault(follower, []).append(name)
    remaining = {name: len(followers) for name, followers in follows.items()}
    ends = [name for name in {*follows, *predecessors} if not remaining.get(name)]
    removed = set(ends)
    for end in ends:  # grows during the loop
        for name in predecessors.get(end, ()):
            remaining[name] -= 1
            if not remaining[name]:
                removed.add(name)
                ends.append(name)
    return {name: followers for name, followers in follows.items() if name not in removed}


def _shortest_cycle(start: str, follows: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the names of the shortest cycle through `start` in a graph, in which `follows` has each name's successors.

    Empty if there is none.
    """
    previous: dict[str, str] = {}
    names = [start]
    for last in names:  # grows during the loop: breadth first
        for name in follows.get(last, ()):
            if name == start:
                route = [last]
                while route[-1] != start:
                    route.append(previous[route[-1]])
                return tuple(reversed(route))
            if name not in previous:
                previous[name] = last
                names.append(name)
    return ()


def is_within(path: str, top: str) -> bool:
    """Return whether an absolute path is `top` or below it; both without `.` and `//`, as the fields normalize them."""
    return path == top or path.startswith(top if top == "/" else f"{top}/")


def nested_pairs(paths: Sequence[str], only: int | None = None) -> Iterator[tuple[int, int]]:
    """Yield the indexes of each pair of paths of which one is the other or below it, the lower index first.

    `only`: just pairs whose lower index is below this number.
    """
    limit = len(paths) if only is None else only
    indexes: dict[str, list[int]] = {}
    for index in range(limit):
        indexes.setdefault(paths[index], []).append(index)
    below: dict[str, list[int]] = {}
    for path, owners in indexes.items():
        for top in PurePosixPath(path).parents:
            below.setdefault(str(top), []).extend(owners)
    for index, path in enumerate(paths):
        tops = (path, *map(str, PurePosixPath(path).parents))
        first_indexes = chain.from_iterable(indexes.get(top, ()) for top in tops)
        for earlier in chain(first_indexes, below.get(path, ())):
            if earlier < index:
                yield earlier, index
