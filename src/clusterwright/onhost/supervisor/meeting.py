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
RECHECK_S = 10.0  # when every answer is there
MOST_PER_S = 100  # connections to one store
PAUSE_S = 0.5  # where there is no way at all, the kernel says so at once


def start_probe(message: Message, local_address: str, answer: Callable[[Message], None]) -> None:
    """Connect from this host's own address, beside everything else, and say how that went."""
    target = (str(message["address"]), int(message["port"]))
    threading.Thread(
        target=_probe, args=(message["meet"], target, local_address, answer), daemon=True
    ).start()


def _probe(
    number: int,
    target: "tuple[str, int]",
    local_address: str,
    answer: Callable[[Message], None],
    limit_s: float = LIMIT_S,
) -> None:
    well, deadline = False, time.monotonic() + limit_s
    while not well and (timeout_s := deadline - time.monotonic()) > 0:
        try:
            socket.create_connection(target, timeout=timeout_s, source_address=(local_address, 0)).close()
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
        self._isolated_hosts: Set[str] = set()
        self._port, self._requested_at = 0, 0.0
        self._begin(0, "", ())

    @property
    def joined(self) -> Dict[str, Peer]:
        """The agents whose hosts' ranks reach each other, as far as is known."""
        return {host: peer for host, peer in self._peers.by_host.items() if host not in self._isolated_hosts}

    def probe_all(self, number: int, store_peer: Peer, port: int, now: float) -> None:
        """All who are joined try the way to the store on the first host."""
        joined = self.joined
        self._begin(number, store_peer.host, joined)
        self._port, self._requested_at = port, now
        for host in set(joined) - {store_peer.host}:
            self._peers.send(host, {"meet": number, "address": store_peer.address, "port": port})

    def reprobe(self, now: float) -> None:
        """Of the same generation, now and then: perhaps nothing passes any more."""
        store_peer = self._peers.by_host.get(self._store_host)
        if store_peer and now >= self._requested_at + max(RECHECK_S, len(self._probed_hosts) / MOST_PER_S):
            self.probe_all(self._number, store_peer, self._port, now)

    def receive(self, host: str, message: Message) -> List[Tuple[str, str]]:
        """The hosts to blame and why, as far as this answer decides it; mostly nobody.

        Who does not reach the store, though others do, is to blame; where several do not and nobody does, it is the
        store's host.
        """
        if message["met"] != self._number or host not in self._probed_hosts:
            return []
        (self._well if message["well"] else self._failed).add(host)
        if self._well:
            guilty, counterpart = sorted(self._failed - self._isolated_hosts), self._store_host
        elif self._failed != self._probed_hosts:
            return []
        elif len(self._failed) == 1:
            guilty, counterpart = [host], self._store_host
        else:
            guilty, counterpart = [self._store_host], "the others"
        self._isolated_hosts.update(guilty)
        return [
            (suspect, f"nothing passes between it and {counterpart} in the ranks' network")
            for suspect in guilty
        ]

    def _begin(self, number: int, store_host: str, hosts: Iterable[str]) -> None:
        self._store_host, self._number, self._probed_hosts = (
            store_host,
            number,
            frozenset(hosts) - {store_host},
        )
        self._well: Set[str] = set()
        self._failed: Set[str] = set()
