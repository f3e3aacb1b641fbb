"""One snapshot for all viewers: it is taken once, and each viewer is sent the change.

The bytes of a change are encoded once. A viewer that does not read them in time is disconnected and reconnects.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import math
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from clusterwright.errors import WrightError
from clusterwright.i18n import in_language
from clusterwright.monitor.snapshot import JobView, NodeView, Snapshot
from clusterwright.monitor.web.compact import Json, difference, missing_row, visible, whole
from clusterwright.monitor.web.history import History
from clusterwright.monitor.web.lists import JobQuery, listed
from clusterwright.monitor.web.trails import Trails

EVERY_S, REST_S = 5.0, 60.0  # seconds between snapshots: with viewers, and without (for the history)
MOST_VIEWERS, MOST_OF_ACCOUNT, MOST_ANONYMOUS = 500, 25, 400
_WAITING_MOST = 4  # unread changes after which a viewer is slow
_MAX_CHANGES = 24  # changes for viewers that reconnect: two minutes
_LISTS_MOST = 256


class Viewer:
    """One open event stream; `name` is the account, empty without sign-in."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.queue: asyncio.Queue[bytes] = asyncio.Queue(_WAITING_MOST)
        self.slow = False

    def enqueue(self, message: bytes) -> None:
        """Queue a message; a viewer with a full queue is marked slow instead."""
        try:
            self.queue.put_nowait(message)
        except asyncio.QueueFull:
            self.slow = True


class Feed:
    """The newest snapshot, its encoded documents, and the viewers."""

    def __init__(
        self,
        cluster: str,
        gather: Callable[[], Snapshot],
        *,
        history: History | None = None,
        every_s: float = EVERY_S,
    ) -> None:
        self.snapshot = Snapshot(cluster, 0.0)
        self.trails, self.history = Trails(), history
        self.version, self._jobs = 0, 0
        self._gather, self._every_s = gather, every_s
        self._trouble = ""
        self._viewers: set[Viewer] = set()
        self._changes: deque[tuple[int, bytes]] = deque(maxlen=_MAX_CHANGES)
        self._wake = asyncio.Event()
        self._by_job: dict[str, JobView] = {}
        self._by_node: dict[str, NodeView] = {}
        self._publish()

    async def run(self) -> None:
        """Take snapshots forever, `every_s` seconds apart.

        Without viewers it pauses up to REST_S longer, until a viewer comes.
        """
        while True:
            self._wake.clear()
            await self.poll()
            await asyncio.sleep(self._every_s)
            if not self._viewers:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), REST_S)

    async def poll(self) -> None:
        """Take a snapshot in a thread, add it to trails and history, and publish it to viewers; texts are in English.

        If it fails, the last snapshot stays, and the error is published; nothing is raised.
        """
        try:
            with in_language("en"):
                snapshot = await asyncio.to_thread(self._gather)
        except WrightError as error:
            self._trouble = visible(error.findings[0].message)
        except Exception as error:  # noqa: BLE001 (shown on the page; the next poll may succeed)
            self._trouble = visible(f"{type(error).__name__}: {error}")
        else:
            self._trouble = ""
            self._jobs += snapshot.jobs != self.snapshot.jobs
            self.snapshot = snapshot
            self.trails.add(snapshot.taken, snapshot.jobs)
            if self.history is not None:
                await asyncio.to_thread(self.history.add, snapshot)
        self._publish()

    def poll_soon(self) -> None:
        """End a longer pause between snapshots, after an action or for a new viewer."""
        self._wake.set()

    def _publish(self) -> None:
        old = self._document if self.version else None
        self._document: dict[str, Json] = whole(self.snapshot) | {
            "trouble": self._trouble,
            "jobs": self._jobs,
        }
        if self.history is not None and self.history.trouble:
            missing = self._document["missing"]
            self._document["missing"] = [
                *(missing if isinstance(missing, list) else []),
                missing_row(self.history.trouble),
            ]
        self._by_job = {job.id: job for job in self.snapshot.jobs}
        self._by_node = {node.name: node for node in self.snapshot.nodes}
        self._lists: dict[JobQuery, bytes] = {}
        self._full_document: tuple[bytes, bytes] | None = None
        self.version += 1
        if old is not None:
            message = event("change", self.version, encoded(difference(old, self._document)))
            self._changes.append((self.version, message))
            for viewer in self._viewers:
                viewer.enqueue(message)

    def document(self) -> tuple[bytes, bytes]:
        """Return the document of the newest snapshot, plain and compressed; encoded once."""
        if self._full_document is None:
            body = encoded(self._document | {"version": self.version})
            self._full_document = body, gzip.compress(body, 5, mtime=0)
        return self._full_document

    def summary(self) -> dict[str, Json]:
        """Return the cluster's sums of the last snapshot, for the HTML page."""
        sums = self._document["sums"]
        return sums if isinstance(sums, dict) else {}

    def list(self, query: JobQuery) -> bytes:
        """Return a page of jobs as JSON, with the version of the document.

        Encoded once for equal queries of one snapshot.
        """
        if query not in self._lists:
            if len(self._lists) >= _LISTS_MOST:
                self._lists.clear()
            self._lists[query] = encoded(listed(self.snapshot.jobs, query) | {"version": self.version})
        return self._lists[query]

    def job(self, name: str) -> JobView | None:
        """Return the job with that id; None if there is none."""
        return self._by_job.get(name)

    def node(self, name: str) -> NodeView | None:
        """Return the node with that name; None if there is none."""
        return self._by_node.get(name)

    def join(self, last_version: int | None, name: str = "") -> Viewer | None:
        """Add a viewer, and queue for it the changes since `last_version`, or the whole document; also poll soon.

        `name` is its account, empty without sign-in. None if there are too many: one account, and viewers without
        sign-in
        together, cannot take all places.
        """
        of_name = sum(viewer.name == name for viewer in self._viewers)
        if len(self._viewers) >= MOST_VIEWERS or of_name >= (MOST_OF_ACCOUNT if name else MOST_ANONYMOUS):
            return None
        viewer = Viewer(name)
        missed = [
            message
            for version, message in self._changes
            if last_version is not None and version > last_version
        ]
        if (
            last_version is not None
            and last_version <= self.version
            and len(missed) == self.version - last_version <= _WAITING_MOST
        ):
            for message in missed:
                viewer.enqueue(message)
        else:
            viewer.enqueue(event("whole", self.version, self.document()[0]))
        self._viewers.add(viewer)
        self.poll_soon()
        return viewer

    def disconnect(self, viewer: Viewer) -> None:
        """Remove a viewer whose stream has ended."""
        self._viewers.discard(viewer)

    @property
    def viewers(self) -> int:
        """The number of open event streams."""
        return len(self._viewers)


def encoded(document: Json) -> bytes:
    """Encode compact JSON; NaN and infinity, which browsers cannot parse, become null."""
    try:
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(document), ensure_ascii=False, separators=(",", ":"))
    return text.encode()


def _finite(value: Json) -> Json:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value


def event(name: str, version: int, data: bytes) -> bytes:
    """Encode a server-sent event of this name, with `version` as its id; `data` must be JSON without line breaks."""
    return b"event: %s\nid: %d\ndata: %s\n\n" % (name.encode(), version, data)
