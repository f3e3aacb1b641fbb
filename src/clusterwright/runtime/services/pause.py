"""Pauses of training, such as an evaluation or an export, that end early on a stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from clusterwright.runtime import shield

T = TypeVar("T")
_POLL_INTERVAL_S = 0.2  # a check of the store is a network round trip
_KEY = "clusterwright/interrupted"


class Interruption:
    """Whether any rank was asked to stop, shared through the group's store.

    There can be no vote: ranks may have different numbers of batches to evaluate, or none.
    """

    def __init__(self, store: Any, must_stop: Callable[[], bool]) -> None:
        self._store, self._must_stop = store, must_stop
        self._polled_at = float("-inf")
        self._is_set = False

    def check(self) -> bool:
        """Return True if any rank must stop: this rank's own state at once, the others' five times a second.

        Once True, it stays. Other ranks learn of this rank's stop through the store.
        """
        if self._is_set:
            return True
        if self._must_stop():
            self._store.set(_KEY, "1")
            self._is_set = True
        elif time.monotonic() - self._polled_at >= _POLL_INTERVAL_S:
            self._polled_at = time.monotonic()
            self._is_set = self._store.check([_KEY])
        return self._is_set


class Pause:
    """The value of `with run.pause(...) as pause`."""

    def __init__(self, interruption: Interruption) -> None:
        self._interruption = interruption

    @property
    def interrupted(self) -> bool:
        """Return True if a rank was asked to stop: finish collectives that others wait for, record nothing."""
        return self._interruption.check()

    def over(self, batches: Iterable[T]) -> Iterator[T]:
        """Yield the batches until they end or a rank is asked to stop; then `interrupted` is true."""
        for batch in shield.iterate(batches):
            if self.interrupted:
                return
            yield batch
