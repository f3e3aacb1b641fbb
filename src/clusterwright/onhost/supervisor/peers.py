"""The supervisor's connections to the agents of its job."""

from __future__ import annotations

import selectors
import socket
import time
from typing import Callable, Dict, Iterator, List, NamedTuple, Tuple

from clusterwright.onhost.supervisor import wakeup_socket, wire

JOINED, MESSAGE, DISCONNECTED, NOTE = "joined", "said", "lost", "note"
FAREWELL_S = 2.0  # time that agents get to leave by themselves


class Peer:
    """One connection to an agent; `host` is empty until the agent has proved that it has the token."""

    def __init__(self, line: wire.WireLine) -> None:
        self.line, self.challenge = line, wire.nonce()
        self.host, self.pid, self.address = "", 0, ""
        self.store = 0  # port of the rendezvous store that is open on that host
        self.facts: wire.Message = {}  # its last report: ports, in-memory replicas
        self.last_message_at = time.monotonic()  # monotonic, since wall clocks may jump


class PeerEvent(NamedTuple):
    """One event of a connection: joined, disconnected, a message, or a note to log."""

    kind: str
    peer: Peer
    message: wire.Message
    reason: str = ""


class Peers:
    """All agent connections of a supervisor."""

    def __init__(
        self,
        listener: socket.socket,
        token: str,
        hosts: Tuple[str, ...],
        timeout_s: float,
        orders: Callable[[], wire.Message],
    ) -> None:
        self.by_host: Dict[str, Peer] = {}
        self._listener, self._token, self._hosts = listener, token, hosts
        self._timeout_s, self._orders = timeout_s, orders
        self._strangers: List[Peer] = []
        self._pending: List[PeerEvent] = []
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        self._selector.register(wakeup_socket.open_wakeup_socket(), selectors.EVENT_READ, wakeup_socket.drain)

    def turn(self, wait_s: float) -> Iterator[PeerEvent]:
        """Yield the events since the last call; wait for them at most `wait_s`, or until a signal arrives."""
        for key, _ in self._selector.select(0 if self._pending else wait_s):
            if isinstance(key.data, Peer):
                self._read(key.data)
            else:
                key.data()
        pending, self._pending = self._pending, []
        yield from pending

    def send(self, host: str, message: wire.Message) -> None:
        """Send to the agent if it is connected; a host that cannot be reached is lost."""
        peer = self.by_host.get(host)
        if peer:
            self._send(peer, message)

    def broadcast(self, message: wire.Message) -> None:
        """Send to every connected agent."""
        for host in list(self.by_host):
            self.send(host, message)

    def drop_unresponsive(self, now: float) -> None:
        """Close every connection without a message for longer than the timeout."""
        for peer in [*self.by_host.values(), *self._strangers]:
            if now - peer.last_message_at > self._timeout_s:
                self.close(peer, "heartbeat timeout")

    def drop(self, host: str, reason: str) -> None:
        """Close the connection of a host."""
        if host in self.by_host:
            self.close(self.by_host[host], reason)

    def farewell(self, limit_s: float = FAREWELL_S) -> None:
        """Request that all agents end their ranks and leave; after `limit_s` Slurm ends the rest with the job."""
        self.broadcast({"end": True})
        deadline = time.monotonic() + limit_s
        while self.by_host and time.monotonic() < deadline:
            for _ in self.turn(deadline - time.monotonic()):
                pass

    def disconnect_all(self) -> None:
        """Close all connections and the listener: agents that lose the supervisor search for another at once."""
        self._selector.unregister(self._listener)
        self._listener.close()
        for peer in [*self.by_host.values(), *self._strangers]:
            self.close(peer, "the supervisor stops")

    def close(self, peer: Peer, reason: str) -> None:
        """Close a connection; the loss of an admitted agent becomes a DISCONNECTED event."""
        if peer.line.fileno() < 0:
            return
        self._selector.unregister(peer.line)
        peer.line.close()
        if peer in self._strangers:
            self._strangers.remove(peer)
        if self.by_host.get(peer.host) is peer:
            del self.by_host[peer.host]
            self._pending.append(PeerEvent(DISCONNECTED, peer, {}, reason))

    def _accept(self) -> None:
        """Accept a connection and send it a challenge."""
        connection, _ = self._listener.accept()
        connection.setblocking(False)  # noqa: FBT003 (the socket's own signature)
        wire.enable_keepalive(connection, self._timeout_s)
        peer = Peer(wire.WireLine(connection))
        self._strangers.append(peer)
        self._selector.register(peer.line, selectors.EVENT_READ, peer)
        self._send(peer, {"challenge": peer.challenge})

    def _read(self, peer: Peer) -> None:
        """Read the messages of one connection; a broken connection is closed."""
        try:
            messages = peer.line.read()
        except wire.Broken as error:
            self.close(peer, str(error))
            return
        for message in messages:
            peer.last_message_at = time.monotonic()
            if peer.address:
                self._pending.append(PeerEvent(MESSAGE, peer, message))
            else:
                self._greet(peer, message)

    def _greet(self, peer: Peer, message: wire.Message) -> None:
        """Check the proof, then wait for the agent's address; only then is the agent admitted."""
        if not peer.host:
            host = str(message.get("host", ""))
            if host not in self._hosts or not wire.proven(message, self._token, host, peer.challenge):
                self._note(peer, "rejected a connection without the run's token")
                self.close(peer, "not authenticated")
                return
            peer.host, peer.pid = host, int(message["pid"])
            proof = wire.proof(self._token, "supervisor", str(message["challenge"]))
            self._send(peer, {"proof": proof, "orders": self._orders()})
        elif "ready" in message:
            self._admit(peer, message)
        else:
            self._note(peer, f"{peer.host}: {message.get('refused', message)}")
            self.close(peer, "refused")

    def _admit(self, peer: Peer, message: wire.Message) -> None:
        """Admit one agent per host: a reconnected one replaces its old connection, a second one is ended."""
        previous = self.by_host.get(peer.host)
        if previous and previous.pid != peer.pid:
            self._send(peer, {"end": True})
            self.close(peer, "second agent")
            return
        if previous:
            del self.by_host[peer.host]
            self.close(previous, "reconnected")
        peer.address, peer.facts = str(message["ready"]), message
        self._strangers.remove(peer)
        self.by_host[peer.host] = peer
        self._pending.append(PeerEvent(JOINED, peer, message))

    def _note(self, peer: Peer, reason: str) -> None:
        self._pending.append(PeerEvent(NOTE, peer, {}, reason))

    def _send(self, peer: Peer, message: wire.Message) -> None:
        try:
            peer.line.send(message)
        except wire.Broken as error:
            self.close(peer, str(error))
