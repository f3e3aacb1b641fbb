"""Heartbeats from a thread of their own: an event loop that waits for the shared folder is late with none of them.

A file server answers late when many programs start from it; a host that waits for it is not lost.
"""

from __future__ import annotations

import threading
import time
from typing import Callable

from clusterwright.onhost.supervisor.peers import Peers
from clusterwright.onhost.supervisor.quorum import Quorum

# The longest wait for the shared folder. A file server takes a minute or two to restart, but an event loop that turns
# no more for longer decides nothing, so that others must.
STALLED_S = 120.0


class HeartbeatThread:
    """Calls `send` at each interval while its event loop turns, until `send` returns False."""

    def __init__(self, send: Callable[[], bool], every_s: float) -> None:
        self._send, self._every_s = send, every_s
        self._turned_at = time.monotonic()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Start the thread that sends heartbeats, the first one at once."""
        self._thread.start()

    def turn(self) -> None:
        """Record that the supervisor's event loop turns now; heartbeats stop if it no longer does."""
        self._turned_at = time.monotonic()

    def stop(self) -> None:
        """Stop to send heartbeats; return once one that is being sent is complete."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            if time.monotonic() - self._turned_at < STALLED_S and not self._send():
                return
            self._stopped.wait(self._every_s)


class SupervisorHeartbeat:
    """Heartbeats to agents, and in the run's folder, by a thread each; an isolated supervisor has none."""

    def __init__(self, peers: Peers, quorum: Quorum, every_s: float) -> None:
        self._peers, self._quorum, self._count = peers, quorum, 0
        self._sending = HeartbeatThread(self._send, every_s)
        self._writing = HeartbeatThread(self._write, every_s)

    def start(self) -> None:
        """Write the first heartbeat, which names this supervisor, then start the threads.

        Call it before any agent starts.
        """
        self._quorum.show(self._count)
        self._sending.start()
        self._writing.start()

    def turn(self) -> None:
        """Record that the supervisor's event loop turns now; heartbeats stop if it no longer does."""
        self._sending.turn()
        self._writing.turn()

    def stop_writing(self, *, over: bool) -> None:
        """End the heartbeat in the folder; `over`: no supervisor may follow in this job."""
        self._writing.stop()
        if over:
            self._quorum.show(self._count, over=True)

    def stop(self) -> None:
        """Send no more heartbeats to the agents."""
        self._sending.stop()

    def _send(self) -> bool:
        if not self._quorum.is_isolated:
            self._count += 1
            self._peers.send_heartbeat(self._count, self._quorum.host)
        return True

    def _write(self) -> bool:
        if not self._quorum.is_isolated:
            self._quorum.show(self._count)
        return True
