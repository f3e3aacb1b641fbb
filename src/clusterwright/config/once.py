"""A pure function of a whole cluster is computed once: every host's tree asks for the same slurm.conf."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import ref

C = TypeVar("C")
P = ParamSpec("P")
T = TypeVar("T")


def once(function: Callable[Concatenate[C, P], T]) -> Callable[Concatenate[C, P], T]:
    """The same function, whose values are kept for as long as their first argument lives.

    That one is told by being the same object: a cluster holds dictionaries and has no hash. The other
    arguments are told by their values.
    """
    kept: dict[int, tuple[Callable[[], C | None], dict[Any, T]]] = {}

    @wraps(function)
    def call(first: C, /, *args: P.args, **options: P.kwargs) -> T:
        place = id(first)
        entry = kept.get(place)
        if entry is None or entry[0]() is not first:
            entry = kept[place] = (ref(first, lambda _gone: kept.pop(place, None)), {})
        key = (args, tuple(sorted(options.items())))
        if key not in entry[1]:
            entry[1][key] = function(first, *args, **options)
        return entry[1][key]

    return call
