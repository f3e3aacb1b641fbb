"""Whether the hosts of a job reach the store of a generation, in the network of its ranks.

Agents hear the supervisor in another network, so that one where nothing passes shows in ranks that wait, and in
nothing else. Each agent connects to the store now and then, and says whether that went; spares do too, as witnesses.
"""

from __future__ import annotations

import socket
import threading
import time
from typing import Callable, Dict, Iterable, List, Set, Tuple

from clusterwright.onhost.supervisor.peers import Peer, Peers
from clusterwright.onhost.supervisor.wire import Message

LIMIT_S = 8.0  # the kernel tries again after 1, 3 and 7 s (tcp(7), tcp_syn_retries); a switch's port comes back in less
AGAIN_S = 10.0  # when every answer is there
MOST_PER_S = 100  # connections to one store
PAUSE_S = 0.5  # where there is no way at all, the kernel says so at once


def try_it(message: Message, own: str, answer: Callable[[Message], None]) -> None:
    """Connect from this host's own address, beside everything else, and say how that went."""
    place = (str(message["address"]), int(message["port"]))
    threading.Thread(target=_try, args=(message["meet"], place, own, answer), daemon=True).start()


def _try(
    number: int,
    place: "tuple[str, int]",
    own: str,
    answer: Callable[[Message], None],
    limit_s: float = LIMIT_S,
) -> None:
    well, until = False, time.monotonic() + limit_s
    while not well and (left := until - time.monotonic()) > 0:
        try:
            socket.create_connection(place, timeout=left, source_address=(own, 0)).close()
            well = True
        except ConnectionError:
            well = True  # refused or reset: the store is gone already, and its host has answered
        except OSError:
            time.sleep(PAUSE_S)
    answer({"met": number, "well": well})


class Meeting:
    """What the hosts of one generation have said, and who was found apart in any of them."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers
        self._apart: Set[str] = set()
        self._port, self._asked_at = 0, 0.0
        self._begin(0, "", ())

    @property
    def joined(self) -> Dict[str, Peer]:
        """The agents whose hosts' ranks reach each other, as far as is known."""
        return {host: peer for host, peer in self._peers.here.items() if host not in self._apart}

    def ask(self, number: int, first: Peer, port: int, now: float) -> None:
        """All who are joined try the way to the store on the first host."""
        joined = self.joined
        self._begin(number, first.host, joined)
        self._port, self._asked_at = port, now
        for host in set(joined) - {first.host}:
            self._peers.tell(host, {"meet": number, "address": first.address, "port": port})

    def ask_again(self, now: float) -> None:
        """Of the same generation, now and then: perhaps nothing passes any more."""
        first = self._peers.here.get(self._first)
        if first and now >= self._asked_at + max(AGAIN_S, len(self._asked) / MOST_PER_S):
            self.ask(self._number, first, self._port, now)

    def heard(self, host: str, message: Message) -> List[Tuple[str, str]]:
        """The hosts to blame and why, as far as this answer decides it; mostly nobody.

        Who does not reach the store, though others do, is to blame; where several do not and nobody does, it is the
        store's host.
        """
        if message["met"] != self._number or host not in self._asked:
            return []
        (self._well if message["well"] else self._failed).add(host)
        if self._well:
            guilty, others = sorted(self._failed - self._apart), self._first
        elif self._failed != self._asked:
            return []
        elif len(self._failed) == 1:
            guilty, others = [host], self._first
        else:
            guilty, others = [self._first], "the others"
        self._apart.update(guilty)
        return [(each, f"nothing passes between it and {others} in the ranks' network") for each in guilty]

    def _begin(self, number: int, first: str, asked: Iterable[str]) -> None:
        self._first, self._number, self._asked = first, number, frozenset(asked) - {first}
        self._well: Set[str] = set()
        self._failed: Set[str] = set()
