"""Test whether the hosts of a job reach the rendezvous store on the network of the ranks.

Heartbeats use another network, so a broken network of the ranks shows only in ranks that wait. Each agent,
also on standby hosts, therefore connects to the store periodically and reports the result.
"""

from __future__ import annotations

import socket
import threading
import time
from typing import Callable, Dict, Iterable, List, Set, Tuple

from clusterwright.onhost.supervisor.peers import Peer, Peers
from clusterwright.onhost.supervisor.wire import Message

LIMIT_S = 8.0  # the kernel retries after 1, 3, 7 s (tcp(7), tcp_syn_retries); a switch port recovers sooner
RECHECK_S = 10.0  # interval between tests
MOST_PER_S = 100  # connections to one store
PAUSE_S = 0.5  # without a route, connect fails at once


def start_probe(message: Message, local_address: str, answer: Callable[[Message], None]) -> None:
    """Test the connection to the rendezvous store from this host in a thread; pass the result to `answer`."""
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
            well = True  # refused or reset: the store is closed already, but its host responds
        except OSError:
            time.sleep(PAUSE_S)
    answer({"met": number, "well": well})


class Meeting:
    """Connection tests of the hosts to the rendezvous store of one generation, and all hosts found isolated so far."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers
        self._isolated_hosts: Set[str] = set()
        self._port, self._requested_at = 0, 0.0
        self._begin(0, "", ())

    @property
    def joined(self) -> Dict[str, Peer]:
        """Return the connected agents whose hosts are not known to be isolated on the ranks' network, by host."""
        return {host: peer for host, peer in self._peers.by_host.items() if host not in self._isolated_hosts}

    def probe_all(self, number: int, store_peer: Peer, port: int, now: float) -> None:
        """Order the agents of all other joined hosts to test their connections to the store of generation `number`.

        The store is on the host of `store_peer`, at `port`.
        """
        joined = self.joined
        self._begin(number, store_peer.host, joined)
        self._port, self._requested_at = port, now
        for host in set(joined) - {store_peer.host}:
            self._peers.send(host, {"meet": number, "address": store_peer.address, "port": port})

    def reprobe(self, now: float) -> None:
        """Repeat the connection test of the same generation if it is due and the store's host is connected."""
        store_peer = self._peers.by_host.get(self._store_host)
        if store_peer and now >= self._requested_at + max(RECHECK_S, len(self._probed_hosts) / MOST_PER_S):
            self.probe_all(self._number, store_peer, self._port, now)

    def receive(self, host: str, message: Message) -> List[Tuple[str, str]]:
        """Record a host's test result; return the hosts that it proves isolated, with reasons; mostly none.

        A host that does not reach the store while others do is isolated itself; if several do not and none does, the
        store's host is.
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
            (suspect, f"no connection between it and {counterpart} on the ranks' network")
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
