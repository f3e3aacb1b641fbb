"""The supervisor's connections to the agents of its job."""

from __future__ import annotations

import selectors
import socket
import time
import traceback
from typing import Callable, Dict, Iterator, List, NamedTuple, Tuple

from clusterwright.onhost.lib.connections import oldest_of_busiest
from clusterwright.onhost.supervisor import wakeup_socket, wire

JOINED, MESSAGE, DISCONNECTED, NOTE = "joined", "said", "lost", "note"
FAREWELL_S = 2.0  # time that agents get to leave by themselves
MOST_STRANGERS = 64  # unauthenticated connections beyond one per host
NOTE_S = 60.0  # interval between two log lines about strangers, who must not fill the log


class Peer:
    """One connection to an agent; `host` is empty until the agent has proved that it has the token."""

    def __init__(self, line: wire.WireLine, source: str = "") -> None:
        self.line, self.challenge = line, wire.nonce()
        self.source = source  # address of a stranger
        self.host, self.pid, self.address = "", 0, ""
        self.store, self.store_error = (
            0,
            "",
        )  # port of the open rendezvous store on that host; why none can start
        self.facts: wire.Message = {}  # its last report: ports, in-memory replicas
        self.last_message_at = time.monotonic()  # monotonic, since wall clocks may jump


class PeerEvent(NamedTuple):
    """One event of a connection: joined, disconnected, a message, or a note to log."""

    kind: str
    peer: Peer
    message: wire.Message
    reason: str = ""


class Peers:
    """The supervisor's connections to all agents, and those of strangers that have not authenticated."""

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
        self.timeout_s, self._orders = timeout_s, orders
        self._strangers: List[Peer] = []
        self._rejected, self._noted_at = 0, float("-inf")
        self._pending: List[PeerEvent] = []
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        self._selector.register(wakeup_socket.open_wakeup_socket(), selectors.EVENT_READ, wakeup_socket.drain)

    def turn(self, wait_s: float) -> Iterator[PeerEvent]:
        """Yield the connections' events since the last call; wait for them at most `wait_s`, or until a signal."""
        for key, _ in self._selector.select(0 if self._pending else wait_s):
            if isinstance(key.data, Peer):
                self._read(key.data)
            else:
                key.data()
        self._drop_slow_strangers(time.monotonic())
        pending, self._pending = self._pending, []
        yield from pending

    def deliver(
        self, event: PeerEvent, handle: Callable[[PeerEvent], None], log: Callable[[str], None]
    ) -> None:
        """Pass an event to `handle`; a peer whose message it cannot handle is logged and disconnected."""
        try:
            handle(event)
        except wire.MALFORMED:
            if event.kind not in (JOINED, MESSAGE):
                raise
            log(f"{event.peer.host}: invalid message {str(event.message)[:200]}: {traceback.format_exc()}")
            self.close(event.peer, "invalid message")

    def send(self, host: str, message: wire.Message) -> None:
        """Send a message to a host's agent, if it is connected; an agent that cannot be reached counts as lost."""
        peer = self.by_host.get(host)
        if peer:
            self._send(peer, message)

    def broadcast(self, message: wire.Message) -> None:
        """Send a message to every connected agent."""
        for host in list(self.by_host):
            self.send(host, message)

    def send_heartbeat(self, count: int, host: str) -> None:
        """Send a heartbeat to every agent, from a thread; if no other host takes it, the agent on `host` gets none.

        A connection breaks while sent data stays unacknowledged: a supervisor on an isolated `host` must not let that
        agent train on, also if its event loop does not notice for now. The event loop closes broken connections.
        """
        peers = dict(self.by_host)
        own = peers.pop(host, None)
        reached = [_reaches(peer, {"beat": count}) for peer in peers.values()]
        if own and (any(reached) or not reached):
            _reaches(own, {"beat": count})

    def drop_unresponsive(self, now: float) -> None:
        """Close every connection without a message for longer than the timeout; its host is then lost."""
        for peer in [*self.by_host.values(), *self._strangers]:
            if now - peer.last_message_at > self.timeout_s:
                self.close(peer, "heartbeat timeout")

    def drop(self, host: str, reason: str) -> None:
        """Close the connection to the agent of a host."""
        if host in self.by_host:
            self.close(self.by_host[host], reason)

    def farewell(self, limit_s: float = FAREWELL_S) -> None:
        """Tell all agents that the run ends, and wait until they disconnect, at most `limit_s`.

        Slurm ends the others with the job.
        """
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
        """Close a connection, unless it is closed.

        For an admitted agent, `turn` yields DISCONNECTED with `reason` next.
        """
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
        """Accept a connection, send it a challenge, and read from it from now on; close strangers beyond a limit."""
        try:
            connection, (source, *_) = self._listener.accept()
        except OSError:  # the client has disconnected, or no file descriptor is free
            self._drop_strangers_beyond(0)
            return
        connection.setblocking(False)  # noqa: FBT003 (the socket's own signature)
        wire.enable_keepalive(connection, self.timeout_s)
        peer = Peer(wire.WireLine(connection), source)
        self._strangers.append(peer)
        self._drop_strangers_beyond(len(self._hosts) + MOST_STRANGERS)
        self._selector.register(peer.line, selectors.EVENT_READ, peer)
        self._send(peer, {"challenge": peer.challenge})

    def _drop_slow_strangers(self, now: float) -> None:
        """Close connections that have not proved the token in time."""
        for peer in [peer for peer in self._strangers if not peer.host]:
            if now - peer.last_message_at > wire.GREETING_S:
                self._reject(peer, f"no proof of the run's token within {wire.GREETING_S:g} s")

    def _drop_strangers_beyond(self, most: int) -> None:
        """If more than `most` connections are unauthenticated, close the oldest of one address.

        Of the address with the most of them.
        """
        strangers = [peer for peer in self._strangers if not peer.host]
        if len(strangers) > most:
            oldest = oldest_of_busiest([peer.source for peer in strangers])
            self._reject(strangers[oldest], "too many unauthenticated connections")

    def _reject(self, peer: Peer, reason: str) -> None:
        """Close a stranger's connection, and log that once a minute at most."""
        self._rejected += 1
        if time.monotonic() - self._noted_at >= NOTE_S:
            self._note(
                peer, f"rejected {self._rejected} connection(s), the last from {peer.source}: {reason}"
            )
            self._rejected, self._noted_at = 0, time.monotonic()
        self.close(peer, reason)

    def _read(self, peer: Peer) -> None:
        """Read a connection's messages: those of an admitted agent become events, others are part of admission.

        A broken connection is closed.
        """
        try:
            for message in peer.line.read():
                if peer.address:
                    peer.last_message_at = time.monotonic()
                    self._pending.append(PeerEvent(MESSAGE, peer, message))
                else:
                    self._greet(peer, message)
        except (wire.Broken, ValueError) as error:
            (self.close if peer.host else self._reject)(peer, str(error))

    def _greet(self, peer: Peer, message: wire.Message) -> None:
        """Handle a message of an agent that is not admitted yet: check its proof of the token, admit it when ready.

        An agent that refuses to join is closed.

        Raises:
            Broken: the proof is wrong.
        """
        if not peer.host:
            host = wire.text(message, "host")
            if host not in self._hosts or not wire.proven(message, self._token, host, peer.challenge):
                raise wire.Broken("no proof of the run's token")
            challenge, pid = wire.text(message, "challenge"), message.get("pid")
            peer.line.session = wire.PeerSession(self._token, peer.challenge, challenge, accepted=True)
            peer.host, peer.pid = host, pid if isinstance(pid, int) else 0
            peer.last_message_at = time.monotonic()
            self._send(peer, {"orders": self._orders()})
        elif "ready" in message:
            self._admit(peer, message)
        else:
            self._note(peer, f"{peer.host}: {message.get('refused', message)}")
            self.close(peer, "refused")

    def _admit(self, peer: Peer, message: wire.Message) -> None:
        """Admit the agent of a host that is ready, as a JOINED event.

        If it has reconnected it replaces its old connection; a second agent of a host is ordered to end.
        """
        previous = self.by_host.get(peer.host)
        if previous and previous.pid != peer.pid:
            self._send(peer, {"end": True})
            self.close(peer, "second agent")
            return
        if previous:
            del self.by_host[peer.host]
            self.close(previous, "reconnected")
        peer.address, peer.facts, peer.last_message_at = str(message["ready"]), message, time.monotonic()
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


def _reaches(peer: Peer, message: wire.Message) -> bool:
    """Send a message; return False if the connection is broken."""
    try:
        peer.line.send(message)
    except wire.Broken:
        return False
    return True
