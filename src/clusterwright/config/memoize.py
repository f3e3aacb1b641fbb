"""Cache pure functions of a cluster: every host's tree contains the same slurm.conf."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import ref

C = TypeVar("C")
P = ParamSpec("P")
T = TypeVar("T")


def cache_per_instance(function: Callable[Concatenate[C, P], T]) -> Callable[Concatenate[C, P], T]:
    """Cache the function's results for as long as the first argument lives.

    The cache is keyed by the identity of the first argument (a cluster holds dictionaries and has no hash) and
    by the values of the others.
    """
    entries: dict[int, tuple[Callable[[], C | None], dict[Any, T]]] = {}

    @wraps(function)
    def wrapper(instance: C, /, *args: P.args, **options: P.kwargs) -> T:
        instance_id = id(instance)
        entry = entries.get(instance_id)
        if entry is None or entry[0]() is not instance:
            entry = entries[instance_id] = (ref(instance, lambda _ref: entries.pop(instance_id, None)), {})
        key = (args, tuple(sorted(options.items())))
        if key not in entry[1]:
            entry[1][key] = function(instance, *args, **options)
        return entry[1][key]

    return wrapper
