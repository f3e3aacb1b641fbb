"""One thread that hears what this host's ranks have copied, and brings it to the next host of the generation.

Ranks write a JSON line into a pipe, found as a path, after each copy. A line is shorter than PIPE_BUF, so that
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
from typing import BinaryIO, Callable, List, Optional, Tuple

from clusterwright.onhost.supervisor import wire
from clusterwright.onhost.supervisor.copies import exchange
from clusterwright.onhost.supervisor.copies.holdings import Holdings, Lent
from clusterwright.onhost.supervisor.host import available

PATIENCE_S = 10.0
AGAIN_S = 0.2
# A host that is down is found by its silence, sooner than this; one that is up and cannot be reached is done without.
GIVE_UP_S = 10.0
# the copies of a step may wait; the step may not
NICENESS = 10
# of what the job may still take, left to the training
SPARED = 0.1
NOBODY = (1 << 64) - 1

Mark = Callable[[int, int], None]
Say = Callable[[str], None]


class Sending:
    """Ranks' words, in their order: `room` wanted, `resumed` from a step, a `copy` made."""

    def __init__(self, token: str, holdings: Holdings, mark: Mark, say: Say) -> None:
        self._token, self._holdings, self._mark, self._say = token, holdings, mark, say
        self._read, self._write = os.pipe()
        self._generation, self._neighbour = 0, None  # type: Tuple[int, Optional[Tuple[str, int]]]
        self._connection: Optional[Tuple[int, socket.socket, BinaryIO]] = None
        self._missed = 0.0  # since when the next host cannot be reached
        self._said: List[str] = []
        threading.Thread(target=self._work, name="send-copies", daemon=True).start()

    @property
    def path(self) -> str:
        """The pipe's end for ranks."""
        return f"/proc/{os.getpid()}/fd/{self._write}"

    def begin(self, generation: int, neighbour: Optional[Tuple[str, int]]) -> None:
        """From now on copies of this generation go there; None when this host is alone."""
        self._generation, self._neighbour = generation, neighbour
        self._missed = 0.0
        for number, slots in enumerate(self._holdings.own):
            slots.reconsider()
            self._mark(number, 0)
        self._hang_up()

    def _work(self) -> None:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
        with os.fdopen(self._read, "rb") as pipe:
            for line in pipe:
                try:
                    self._hear(json.loads(line))
                except (ValueError, KeyError, TypeError) as why:
                    self._tell(f"a line about copies is not understood: {line[:80]!r} ({why})")

    def _hear(self, words: wire.Message) -> None:
        if words["generation"] != self._generation:
            return  # of ranks that are gone
        if "room" in words:
            self._make_room(words["local_rank"], words["room"])
        elif "resumed" in words:
            self._holdings.resumed(words["generation"], words["resumed"])
        else:
            generation, step, world_size, rank = words["copy"]
            whole = tuple(words["whole"]) if words["whole"] else None
            self._holdings.supersede((generation, step), whole)
            self._bring((generation, step, world_size, rank), words["local_rank"])

    def _make_room(self, local_rank: int, room: int) -> None:
        """Two slots here, and two for the part that the host before us will send."""
        slots = self._holdings.own[local_rank]
        want = 2 * room * (2 if self._neighbour else 1) - slots.held_bytes()
        left = available.available_bytes()
        if want < (1 - SPARED) * left:
            slots.grant(room)
        else:
            slots.refuse()
            self._tell(f"no copies in memory: they need {want} bytes, and {left} are left on this host")

    def _bring(self, key: "tuple[int, int, int, int]", local_rank: int) -> None:
        """Until it has arrived, or the generation is over; a host that is alone has nobody to bring it to."""
        while self._neighbour and key[0] == self._generation:
            lent = self._holdings.lend(key)
            if lent is None:
                return
            with lent.file:
                try:
                    reached = self._send(lent)
                except (OSError, wire.Broken, ValueError, KeyError) as why:
                    self._hang_up()
                    if key[0] == self._generation and self._misses(str(why)):
                        break
                    time.sleep(AGAIN_S)
                    continue
            self._missed = 0.0
            self._mark(local_rank, key[1] if reached else NOBODY)
            return
        if key[0] == self._generation:
            self._mark(local_rank, NOBODY)

    def _misses(self, why: str) -> bool:
        """True when the next host could not be reached for so long that copies stay on their own host."""
        self._tell(f"copies do not reach {self._neighbour}: {why}")
        self._missed = self._missed or time.monotonic()
        if time.monotonic() - self._missed < GIVE_UP_S:
            return False
        self._tell(f"copies stay on this host: {self._neighbour} has not been reached for {GIVE_UP_S:.0f} s")
        return True

    def _send(self, lent: Lent) -> bool:
        """False when there is no memory for it; then each host has only its own."""
        connection, stream = self._connected(lent.part.generation)
        exchange.send(connection, {"put": asdict(lent.part)})
        answer = exchange.receive(stream)
        if "refused" in answer:
            self._tell(f"the next host takes no copies: {answer['refused']}")
            return False
        exchange.send_bytes(connection, lent)
        exchange.send(connection, {"good": lent.unchanged()})
        return bool(exchange.receive(stream)["kept"])

    def _connected(self, generation: int) -> Tuple[socket.socket, BinaryIO]:
        if self._connection and self._connection[0] != generation:
            self._hang_up()
        if not self._connection:
            if not self._neighbour:
                raise wire.Broken("the generation is over")
            self._connection = (generation, *exchange.connect(*self._neighbour, self._token, PATIENCE_S))
        return self._connection[1:]

    def _hang_up(self) -> None:
        """Whatever waits on the connection stops waiting."""
        found, self._connection = self._connection, None
        if found:
            with contextlib.suppress(OSError):  # broken before
                found[1].shutdown(socket.SHUT_RDWR)
            found[1].close()

    def _tell(self, words: str) -> None:
        """Once each."""
        if words not in self._said:
            self._said.append(words)
            self._say(words)
