"""Messages between ranks through torch's key-value store, without collectives and without blocking calls.

A store client serves one call at a time, so a thread blocked in it would block all others of its process; so readers
poll a counter.
"""

from __future__ import annotations

import itertools
import json
import time
from typing import Any

_POLL_INTERVALS_S = (0.002, 0.05)  # first and longest
_serial = itertools.count()


class Board:
    """A namespace of the store, one for each set of checkpoints; all ranks must create theirs in the same order."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self._prefix = f"clusterwright/checkpoints/{next(_serial)}"

    def pin(self, topic: str, document: Any, rank: int = 0) -> None:
        """Publish a rank's JSON document under a topic in the ranks' store.

        Call it once per topic and rank: `read` waits for a number of calls, so a second one counts as another rank's.
        """
        self._store.set(self._key(topic, rank), json.dumps(document))
        self._store.add(self._key(topic, "count"), 1)

    def read(self, topic: str, count: int = 1) -> list[Any]:
        """Wait until `count` ranks have published under a topic; return their documents in rank order."""
        pause, longest = _POLL_INTERVALS_S
        while self._store.add(self._key(topic, "count"), 0) < count:
            time.sleep(pause)
            pause = min(2 * pause, longest)
        return [json.loads(self._store.get(self._key(topic, rank))) for rank in range(count)]

    def clear(self, topic: str, count: int = 1) -> None:
        """Delete a topic, which all ranks have read, and its documents of `count` ranks."""
        for writer in (*range(count), "count"):
            self._store.delete_key(self._key(topic, writer))

    def _key(self, topic: str, writer: object) -> str:
        return f"{self._prefix}/{topic}/{writer}"
