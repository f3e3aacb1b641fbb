"""A supervisor's number in the chain, its heartbeat file, and whether it is isolated.

A supervisor that reaches no other host and no Slurm controller is isolated. Its heartbeat stops, so that
another host can take over, and it decides nothing until one has, or until it receives messages again. While
Slurm has not answered yet, a lost connection may be its own: the loss of that host is deferred.
"""

from __future__ import annotations

import socket
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional

from clusterwright.onhost.supervisor import heartbeat
from clusterwright.onhost.supervisor.folder import Folder
from clusterwright.onhost.supervisor.peers import Peer, PeerEvent

DOUBT = 0.5  # share of the host timeout without any message after which Slurm is asked
RETRY_S = 1.0


class Predecessor(NamedTuple):
    """What a failover supervisor knows of the lost one."""

    number: int  # of the new supervisor
    host: str  # of the lost supervisor
    heartbeat_age_s: float  # since its last heartbeat
    end_time: float  # of the job, epoch seconds


class Quorum:
    """Isolation state and heartbeat file of one supervisor; times are monotonic, as Peer.last_message_at."""

    def __init__(self, folder: Folder, job_id: str, number: int, host: str, listener: socket.socket) -> None:
        self.is_isolated = False
        self.asking = False  # Slurm's answer whether this host is isolated is pending
        self.number, self.host = number, host
        self._folder, self._job_id = folder, job_id
        self._listen_address = listener.getsockname()
        self._had, self._requested_at = False, float("-inf")
        self._deferred: Dict[str, PeerEvent] = {}  # lost connections by host

    def in_touch(
        self, peers: Mapping[str, Peer], now: float, timeout_s: float, in_reach: Callable[[], Optional[bool]]
    ) -> bool:
        """Return False if this supervisor is isolated: no other host sends messages, and the scheduler is silent.

        `in_reach` queries that (None: no answer yet), only once all other hosts are silent; until its answer the last
        result counts.
        """
        if self._receives_messages(peers, now, timeout_s):
            self._had, self.is_isolated, self.asking = True, False, False
        elif self._had and (self.asking or now - self._requested_at >= RETRY_S):
            answer = in_reach()
            self.asking = answer is None
            if answer is not None:
                self.is_isolated, self._requested_at = not answer, now
                self._had = self.is_isolated  # if not isolated, the other hosts were lost
        return not self.is_isolated

    def in_doubt(self, peers: Mapping[str, Peer], now: float, timeout_s: float) -> bool:
        """Return True if this supervisor is isolated, or could be: all others are silent, and Slurm is not asked."""
        return self.is_isolated or (self._had and not self._receives_messages(peers, now, timeout_s))

    def defer(self, loss: PeerEvent) -> None:
        """Store a lost connection until the doubt is resolved."""
        self._deferred[loss.peer.host] = loss

    def resolve(self, host: str = "") -> List[PeerEvent]:
        """Return the lost connections that were deferred, of one host or of all, and forget them."""
        hosts = [host] if host else list(self._deferred)
        return [self._deferred.pop(name) for name in hosts if name in self._deferred]

    def _receives_messages(self, peers: Mapping[str, Peer], now: float, timeout_s: float) -> bool:
        times = [peer.last_message_at for host, peer in peers.items() if host != self.host]
        return any(now - time < DOUBT * timeout_s for time in times)

    def show(self, beats: int, *, over: bool = False) -> None:
        """Write the run's heartbeat file, with this supervisor's number, host and address, and the count `beats`.

        `over`: no supervisor may follow in this job.
        """
        address, port = self._listen_address
        self._folder.write(
            heartbeat.NAME,
            {
                "job_id": self._job_id,
                "number": self.number,
                "beats": beats,
                "host": self.host,
                "address": address,
                "port": port,
                "over": over,
            },
        )

    @property
    def followed_by(self) -> str:
        """Return the job id of the supervisor with the next number in the run's chain; "" if there is none."""
        return self._folder.successor(self.number)

    @property
    def followed_inside(self) -> bool:
        """Return True if the next supervisor runs in this same job, which must not end with this one."""
        return self.followed_by == self._job_id
