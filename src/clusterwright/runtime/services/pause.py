"""Time that is not training: an evaluation, a sample, an export."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from clusterwright.runtime import shield

T = TypeVar("T")
_POLL_INTERVAL_S = 0.2  # a question to the store is a round trip over the network
_KEY = "clusterwright/interrupted"


class Interruption:
    """Whether some rank was asked to leave: told through the group's store, so that no rank waits for another.

    Ranks may have different numbers of batches to evaluate, or none, so there can be no vote.
    """

    def __init__(self, store: Any, must_stop: Callable[[], bool]) -> None:
        self._store, self._must_stop = store, must_stop
        self._polled_at = float("-inf")
        self._is_set = False

    def check(self) -> bool:
        """Asked by this rank; it looks a few times a second, and knows its own signal at once."""
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
    """What `with run.pause(...) as pause` gives."""

    def __init__(self, interruption: Interruption) -> None:
        self._interruption = interruption

    @property
    def interrupted(self) -> bool:
        """A rank was asked to leave: finish what the others wait for, and measure nothing."""
        return self._interruption.check()

    def over(self, batches: Iterable[T]) -> Iterator[T]:
        """The batches, until there are no more or a rank is asked to leave."""
        for batch in shield.iterate(batches):
            if self.interrupted:
                return
            yield batch
