"""The agents of a job, as their supervisor hears them: who is there, what they say, who is gone."""

from __future__ import annotations

import selectors
import socket
import time
from typing import Callable, Dict, Iterator, List, NamedTuple, Tuple

from clusterwright.onhost.supervisor import waker, wire

JOINED, SAID, LOST, NOTE = "joined", "said", "lost", "note"
FAREWELL_S = 2.0  # agents get this long to leave by themselves


class Peer:
    """An agent at the other end of a connection; a stranger until it has proved the token."""

    def __init__(self, line: wire.Line) -> None:
        self.line, self.challenge = line, wire.nonce()
        self.host, self.pid, self.address = "", 0, ""
        self.store = 0  # port of the store that stands ready there
        self.facts: wire.Message = {}  # what it said last of itself: ports, holdings
        self.heard = time.monotonic()  # clocks on the wall may jump


class Heard(NamedTuple):
    """One thing that happened on a connection."""

    kind: str
    peer: Peer
    message: wire.Message
    why: str = ""


class Peers:
    """All connections of a supervisor."""

    def __init__(
        self,
        listener: socket.socket,
        token: str,
        hosts: Tuple[str, ...],
        silence_s: float,
        orders: Callable[[], wire.Message],
    ) -> None:
        self.here: Dict[str, Peer] = {}
        self._listener, self._token, self._hosts = listener, token, hosts
        self._silence_s, self._orders = silence_s, orders
        self._strangers: List[Peer] = []
        self._pending: List[Heard] = []
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        self._selector.register(waker.waker(), selectors.EVENT_READ, waker.drain)

    def turn(self, wait_s: float) -> Iterator[Heard]:
        """What has happened since the last turn; waits for it no longer than that, or until a signal comes."""
        for key, _ in self._selector.select(0 if self._pending else wait_s):
            if isinstance(key.data, Peer):
                self._read(key.data)
            else:
                key.data()
        pending, self._pending = self._pending, []
        yield from pending

    def tell(self, host: str, message: wire.Message) -> None:
        """Send, if the host is there; who cannot be told is lost."""
        peer = self.here.get(host)
        if peer:
            self._send(peer, message)

    def tell_all(self, message: wire.Message) -> None:
        """Send to every agent."""
        for host in list(self.here):
            self.tell(host, message)

    def drop_silent(self, now: float) -> None:
        """Whoever has said nothing for too long is lost."""
        for peer in [*self.here.values(), *self._strangers]:
            if now - peer.heard > self._silence_s:
                self.close(peer, "silent")

    def drop(self, host: str, why: str) -> None:
        """Hear no more from it."""
        if host in self.here:
            self.close(self.here[host], why)

    def farewell(self, limit_s: float = FAREWELL_S) -> None:
        """It is over: they end their ranks and leave; what does not is ended by Slurm with the job."""
        self.tell_all({"end": True})
        until = time.monotonic() + limit_s
        while self.here and time.monotonic() < until:
            for _ in self.turn(until - time.monotonic()):
                pass

    def let_go(self) -> None:
        """They look for another supervisor at once: who is told nothing and can connect to nobody does so."""
        self._selector.unregister(self._listener)
        self._listener.close()
        for peer in [*self.here.values(), *self._strangers]:
            self.close(peer, "let go")

    def close(self, peer: Peer, why: str) -> None:
        """The end of a connection; if it was a host of ours, the host is lost until it joins again."""
        if peer.line.fileno() < 0:
            return
        self._selector.unregister(peer.line)
        peer.line.close()
        if peer in self._strangers:
            self._strangers.remove(peer)
        if self.here.get(peer.host) is peer:
            del self.here[peer.host]
            self._pending.append(Heard(LOST, peer, {}, why))

    def _accept(self) -> None:
        """A stranger gets a challenge."""
        connection, _ = self._listener.accept()
        connection.setblocking(False)  # noqa: FBT003 (the socket's own signature)
        wire.keep_alive(connection, self._silence_s)
        peer = Peer(wire.Line(connection))
        self._strangers.append(peer)
        self._selector.register(peer.line, selectors.EVENT_READ, peer)
        self._send(peer, {"challenge": peer.challenge})

    def _read(self, peer: Peer) -> None:
        """Whatever one connection says; a broken one is a lost host."""
        try:
            messages = peer.line.read()
        except wire.Broken as why:
            self.close(peer, str(why))
            return
        for message in messages:
            peer.heard = time.monotonic()
            if peer.address:
                self._pending.append(Heard(SAID, peer, message))
            else:
                self._greet(peer, message)

    def _greet(self, peer: Peer, message: wire.Message) -> None:
        """First the proof, then the address; only then is it one of ours."""
        if not peer.host:
            host = str(message.get("host", ""))
            if host not in self._hosts or not wire.proven(message, self._token, host, peer.challenge):
                self._note(peer, "turned away a connection that does not know the run's token")
                self.close(peer, "stranger")
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
        """One agent a host: the same one again replaces itself, another one is sent away."""
        before = self.here.get(peer.host)
        if before and before.pid != peer.pid:
            self._send(peer, {"end": True})
            self.close(peer, "second agent")
            return
        if before:
            del self.here[peer.host]
            self.close(before, "connected again")
        peer.address, peer.facts = str(message["ready"]), message
        self._strangers.remove(peer)
        self.here[peer.host] = peer
        self._pending.append(Heard(JOINED, peer, message))

    def _note(self, peer: Peer, why: str) -> None:
        self._pending.append(Heard(NOTE, peer, {}, why))

    def _send(self, peer: Peer, message: wire.Message) -> None:
        try:
            peer.line.send(message)
        except wire.Broken as why:
            self.close(peer, str(why))
