"""Where a supervisor stands: its place in the chain, its pulse, and whether anybody is in touch with it.

Who hears no other host and cannot reach Slurm either is cut off, whatever the others are. Its pulse stops, so that
one of them takes over, and it decides nothing until somebody has, or until it hears them again.
"""

from __future__ import annotations

import socket
from typing import Callable, Mapping, NamedTuple, Optional

from clusterwright.onhost.supervisor import pulse
from clusterwright.onhost.supervisor.folder import Folder
from clusterwright.onhost.supervisor.peers import Peer

DOUBT = 0.5  # of the silence that makes a host lost: nobody heard for so long is a reason to ask Slurm
ASK_AGAIN_S = 1.0


class Before(NamedTuple):
    """What a supervisor leaves to the one that follows it inside its job."""

    number: int  # of the one that follows
    host: str  # where it was
    silence_s: float  # for how long
    end_time: float  # of the job, in seconds since the epoch


class Standing:
    """One supervisor's; times are those of Peer.heard."""

    def __init__(self, folder: Folder, job_id: str, number: int, host: str, listener: socket.socket) -> None:
        self.cut_off = False
        self.asking = False  # Slurm has not said yet whether it is we who are cut off
        self.number, self.host = number, host
        self._folder, self._job_id = folder, job_id
        self._place = listener.getsockname()
        self._had, self._asked = False, float("-inf")

    def in_touch(
        self, peers: Mapping[str, Peer], now: float, silence_s: float, in_reach: Callable[[], Optional[bool]]
    ) -> bool:
        """Whether anybody is heard; Slurm is asked only after others were heard and are no more."""
        others = [peer for host, peer in peers.items() if host != self.host]
        if any(now - peer.heard < DOUBT * silence_s for peer in others):
            self._had, self.cut_off, self.asking = True, False, False
        elif self._had and (self.asking or now - self._asked >= ASK_AGAIN_S):
            answer = in_reach()
            self.asking = answer is None
            if answer is not None:
                self.cut_off, self._asked = not answer, now
                self._had = self.cut_off  # alone, and not cut off: it was the others
        return not self.cut_off

    def show(self, beats: int, *, over: bool = False) -> None:
        """The pulse, which also says where we are, and at last that nobody is to follow inside this job."""
        address, port = self._place
        self._folder.write(
            pulse.NAME,
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
        return self._folder.after(self.number)

    @property
    def followed_inside(self) -> bool:
        """Whether the one that follows is in our own job, which must not end with us."""
        return self.followed_by == self._job_id
