"""What ranks tell one another through the generation's store. No collective, and nobody waits inside the store.

A thread that waited inside it would keep every other thread of its process out of it, since a client does one thing
at a time; so it is asked again and again, each time for one number.
"""

from __future__ import annotations

import itertools
import json
import time
from typing import Any

_POLL_INTERVALS_S = (0.002, 0.05)  # from the first look to the last
_serial = itertools.count()


class Board:
    """One for each set of checkpoints; all ranks make theirs in the same order, and so know it by its number."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self._prefix = f"clusterwright/checkpoints/{next(_serial)}"

    def pin(self, topic: str, document: Any, rank: int = 0) -> None:
        """Say something, once."""
        self._store.set(self._key(topic, rank), json.dumps(document))
        self._store.add(self._key(topic, "count"), 1)

    def read(self, topic: str, count: int = 1) -> list[Any]:
        """What so many have said, in their order, when the last of them has."""
        pause, longest = _POLL_INTERVALS_S
        while self._store.add(self._key(topic, "count"), 0) < count:
            time.sleep(pause)
            pause = min(2 * pause, longest)
        return [json.loads(self._store.get(self._key(topic, rank))) for rank in range(count)]

    def clear(self, topic: str, count: int = 1) -> None:
        """Take down what everybody has read."""
        for writer in (*range(count), "count"):
            self._store.delete_key(self._key(topic, writer))

    def _key(self, topic: str, writer: object) -> str:
        return f"{self._prefix}/{topic}/{writer}"
