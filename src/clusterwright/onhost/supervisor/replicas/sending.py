"""A thread that replicates the copies of this host's ranks to the next host of the generation.

Ranks write a JSON line into a pipe, opened by its path, after each copy. A line is shorter than PIPE_BUF, so
lines of several ranks never mix (pipe(7)).
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from dataclasses import asdict
from typing import Callable, List, Optional, Tuple

from clusterwright.onhost.supervisor import wire
from clusterwright.onhost.supervisor.host import available
from clusterwright.onhost.supervisor.replicas import exchange
from clusterwright.onhost.supervisor.replicas.holdings import Holdings, Lent

TIMEOUT_S = 10.0
RETRY_S = 0.2
# A host that is down is detected sooner, by its heartbeat; replicas to one that is up but unreachable stop after this.
UNREACHABLE_S = 10.0
# replicas of a step may wait; the step may not
NICENESS = 10
# share of the available memory that is left to the training
SPARED = 0.1
NO_PEER = (1 << 64) - 1

Acknowledge = Callable[[int, int], None]
Log = Callable[[str], None]


class Sending:
    """Handles the ranks' messages in order: `room` (memory requested), `resumed` (from a step), `copy` (copied)."""

    def __init__(self, token: str, holdings: Holdings, acknowledge: Acknowledge, log: Log) -> None:
        self._token, self._holdings, self._acknowledge, self._log = token, holdings, acknowledge, log
        self._read, self._write = os.pipe()
        self._generation, self._neighbor = 0, None  # type: Tuple[int, Optional[Tuple[str, int]]]
        self._channel: Optional[Tuple[int, exchange.Channel]] = None
        self._missed = 0.0  # monotonic time since when the peer host is unreachable; 0 if it is not
        self._logged_messages: List[str] = []
        threading.Thread(target=self._work, name="send-copies", daemon=True).start()

    @property
    def path(self) -> str:
        """Return the path of the pipe's write end, to which ranks write messages."""
        return f"/proc/{os.getpid()}/fd/{self._write}"

    def begin(self, generation: int, neighbor: Optional[Tuple[str, int]]) -> None:
        """Send the replicas of this generation to `neighbor` (address and port); None: this host is alone."""
        self._generation, self._neighbor = generation, neighbor
        self._missed = 0.0
        for number, slots in enumerate(self._holdings.local_slots):
            slots.reconsider()
            self._acknowledge(number, 0)
        self._hang_up()

    def _work(self) -> None:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
        with os.fdopen(self._read, "rb") as pipe:
            for line in pipe:
                try:
                    self._handle(json.loads(line))
                except (RecursionError, *wire.MALFORMED) as error:
                    self._log_once(f"invalid message about in-memory checkpoints: {line[:80]!r} ({error})")

    def _handle(self, message: wire.Message) -> None:
        if message["generation"] != self._generation:
            return  # of an earlier generation
        if "room" in message:
            self._reserve(message["local_rank"], message["room"])
        elif "resumed" in message:
            self._holdings.resumed(message["generation"], message["resumed"])
        else:
            generation, step, world_size, rank = message["copy"]
            complete = tuple(message["whole"]) if message["whole"] else None
            self._holdings.supersede((generation, step), complete)
            self._replicate((generation, step, world_size, rank), message["local_rank"])

    def _reserve(self, local_rank: int, capacity: int) -> None:
        """Allocate two slots of `capacity` bytes for the rank, or refuse if memory is short.

        As much again must stay for the replicas of a rank of the previous host.
        """
        slots = self._holdings.local_slots[local_rank]
        required_bytes = 2 * capacity * (2 if self._neighbor else 1) - slots.allocated_bytes()
        free_bytes = available.available_bytes()
        if required_bytes < (1 - SPARED) * free_bytes:
            slots.grant(capacity)
        else:
            slots.refuse()
            self._log_once(
                f"no in-memory checkpoints: they need {required_bytes} bytes, and {free_bytes} are available"
            )

    def _replicate(self, key: "tuple[int, int, int, int]", local_rank: int) -> None:
        """Send a rank's in-memory checkpoint to the next host; retry until it has arrived or the generation ended.

        Give up after UNREACHABLE_S.
        """
        while self._neighbor and key[0] == self._generation:
            lent = self._holdings.lend(key)
            if lent is None:
                return
            with lent.file:
                try:
                    reached = self._send(lent)
                except (OSError, wire.Broken, *wire.MALFORMED) as error:
                    self._hang_up()
                    if key[0] == self._generation and self._misses(str(error)):
                        break
                    time.sleep(RETRY_S)
                    continue
            self._missed = 0.0
            self._acknowledge(local_rank, key[1] if reached else NO_PEER)
            return
        if key[0] == self._generation:
            self._acknowledge(local_rank, NO_PEER)

    def _misses(self, reason: str) -> bool:
        """Record a failed transfer; return True if the peer host has been unreachable for UNREACHABLE_S."""
        self._log_once(f"cannot send replicas to {self._neighbor}: {reason}")
        self._missed = self._missed or time.monotonic()
        if time.monotonic() - self._missed < UNREACHABLE_S:
            return False
        self._log_once(f"no replicas on another host: {self._neighbor} unreachable for {UNREACHABLE_S:.0f} s")
        return True

    def _send(self, lent: Lent) -> bool:
        """Send a part of a checkpoint to the peer host; return True if it has it now.

        False if the host has no memory for it, or the part was overwritten meanwhile.
        """
        channel = self._connected(lent.part.generation)
        channel.send({"put": asdict(lent.part)})
        answer = channel.receive()
        if "refused" in answer:
            self._log_once(f"the peer host refused a replica: {answer['refused']}")
            return False
        exchange.send_bytes(channel.connection, lent)
        channel.send({"good": lent.unchanged()})
        return bool(channel.receive()["kept"])

    def _connected(self, generation: int) -> exchange.Channel:
        if self._channel and self._channel[0] != generation:
            self._hang_up()
        if not self._channel:
            if not self._neighbor:
                raise wire.Broken("the generation is over")
            self._channel = (generation, exchange.connect(*self._neighbor, self._token, TIMEOUT_S))
        return self._channel[1]

    def _hang_up(self) -> None:
        """Close the connection to the peer host, so that a send that waits on it fails."""
        previous, self._channel = self._channel, None
        if previous:
            with contextlib.suppress(OSError):  # already broken
                previous[1].connection.shutdown(socket.SHUT_RDWR)
            previous[1].connection.close()

    def _log_once(self, text: str) -> None:
        """Log the text unless it was logged before."""
        if text not in self._logged_messages:
            self._logged_messages.append(text)
            self._log(text)
