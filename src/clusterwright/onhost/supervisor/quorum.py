"""Where a supervisor stands: its place in the chain, its pulse, and whether anybody is in touch with it.

Who hears no other host and cannot reach Slurm either is cut off, whatever the others are. Its pulse stops, so that
one of them takes over, and it decides nothing until somebody has, or until it hears them again.
"""

from __future__ import annotations

import socket
from typing import Callable, Mapping, NamedTuple, Optional

from clusterwright.onhost.supervisor import heartbeat
from clusterwright.onhost.supervisor.folder import Folder
from clusterwright.onhost.supervisor.peers import Peer

DOUBT = 0.5  # of the silence that makes a host lost: nobody heard for so long is a reason to ask Slurm
RETRY_S = 1.0


class Predecessor(NamedTuple):
    """What a supervisor leaves to the one that follows it inside its job."""

    number: int  # of the one that follows
    host: str  # where it was
    silence_s: float  # for how long
    end_time: float  # of the job, in seconds since the epoch


class Quorum:
    """One supervisor's; times are those of Peer.heard."""

    def __init__(self, folder: Folder, job_id: str, number: int, host: str, listener: socket.socket) -> None:
        self.is_isolated = False
        self.asking = False  # Slurm has not said yet whether it is we who are cut off
        self.number, self.host = number, host
        self._folder, self._job_id = folder, job_id
        self._listen_address = listener.getsockname()
        self._had, self._requested_at = False, float("-inf")

    def in_touch(
        self, peers: Mapping[str, Peer], now: float, timeout_s: float, in_reach: Callable[[], Optional[bool]]
    ) -> bool:
        """Whether anybody is heard; Slurm is asked only after others were heard and are no more."""
        remote_peers = [peer for host, peer in peers.items() if host != self.host]
        if any(now - peer.last_message_at < DOUBT * timeout_s for peer in remote_peers):
            self._had, self.is_isolated, self.asking = True, False, False
        elif self._had and (self.asking or now - self._requested_at >= RETRY_S):
            answer = in_reach()
            self.asking = answer is None
            if answer is not None:
                self.is_isolated, self._requested_at = not answer, now
                self._had = self.is_isolated  # alone, and not cut off: it was the others
        return not self.is_isolated

    def show(self, beats: int, *, over: bool = False) -> None:
        """The pulse, which also says where we are, and at last that nobody is to follow inside this job."""
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
        """The job of the supervisor that follows; empty while there is none."""
        return self._folder.successor(self.number)

    @property
    def followed_inside(self) -> bool:
        """Whether the one that follows is in our own job, which must not end with us."""
        return self.followed_by == self._job_id
