"""State that outlives the ranks: the memory that this host's agent keeps, sends on, and hands out.

Each local rank copies its part of the state into memory of the agent's, which the next host of the generation gets
too. The decision which of it the next generation begins with is recall.py's.
"""

from __future__ import annotations

import json
import os
import socket
from typing import Dict, List, Optional, Tuple

from clusterwright.onhost.supervisor.replicas.holdings import Holdings
from clusterwright.onhost.supervisor.replicas.sending import Acknowledge, Log, Sending
from clusterwright.onhost.supervisor.replicas.serving import Serving
from clusterwright.onhost.supervisor.wire import Message

LONGEST_VARIABLE = 100_000  # bytes; execve(2) takes 128 KiB


class Replicas:
    """One for each agent, for as long as it lives."""

    def __init__(
        self, listener: socket.socket, token: str, ranks: int, acknowledge: Acknowledge, log: Log
    ) -> None:
        self._token = token
        self._long = os.fdopen(os.memfd_create("clusterwright-memory", os.MFD_CLOEXEC), "wb", buffering=0)
        self._holdings = Holdings(ranks)
        self._serving = Serving(listener, token, self._holdings)
        self._sending = Sending(token, self._holdings, acknowledge, log)

    @property
    def port(self) -> int:
        """Where parts are fetched and brought."""
        return self._serving.port

    def report(self) -> Message:
        """What is held here, for the supervisor."""
        return self._holdings.report()

    def start(self, message: Message, host: str) -> Dict[str, str]:
        """A generation begins as the supervisor says; what its ranks on this host are told."""
        following = message["next"].get(host)
        self.begin(message["start"], (following[0], following[1]) if following else None)
        return self._memory_variables(self.memory(message["memory"])) if message["memory"] else {}

    def begin(self, generation: int, neighbour: Optional[Tuple[str, int]]) -> None:
        """A generation begins; its copies go on to `neighbour`, if there is one."""
        self._sending.begin(generation, neighbour)

    def variables(self, local_rank: int) -> Dict[str, str]:
        """What a rank has to know to copy."""
        return {
            "CLUSTERWRIGHT_COPY": self._holdings.local_slots[local_rank].path,
            "CLUSTERWRIGHT_COPY_WAKE": self._sending.path,
        }

    def memory(self, chosen: Message) -> Message:
        """What a rank has to know to restore: each part where it is nearest to this host.

        `chosen` is what the supervisor says: `generation`, `step`, `world_size`, and for each rank the addresses and
        ports of the hosts that hold its part.
        """
        moment = {name: chosen[name] for name in ("generation", "step", "world_size")}
        parts: List[Message] = []
        for rank, places in enumerate(chosen["places"]):
            key = (moment["generation"], moment["step"], moment["world_size"], rank)
            path = self._holdings.path(key)
            address, port = places[0]
            parts.append({"rank": rank, **({"path": path} if path else {"address": address, "port": port})})
        return {**moment, "token": self._token, "parts": parts}

    def _memory_variables(self, memory: Message) -> Dict[str, str]:
        """In a variable, or, for a thousand ranks and more, in a file whose path is there: a variable has its limit."""
        text = json.dumps(memory)
        if len(text) > LONGEST_VARIABLE:
            self._long.truncate(0)
            os.pwrite(self._long.fileno(), text.encode(), 0)
            text = f"/proc/{os.getpid()}/fd/{self._long.fileno()}"
        return {"CLUSTERWRIGHT_MEMORY": text}

    def close(self) -> None:
        """Nobody is served any more."""
        self._serving.close()
        self._long.close()
