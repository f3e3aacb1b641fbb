"""The in-memory checkpoints of this host's agent, which outlive the ranks.

Each local rank copies its part of the state into memory of the agent, which replicates it to the next host of
the generation. recall.py decides which checkpoint the next generation resumes from.
"""

from __future__ import annotations

import json
import os
import socket
from typing import Dict, List, Optional, Tuple

from clusterwright.onhost.supervisor.replicas.holdings import Holdings
from clusterwright.onhost.supervisor.replicas.sending import Acknowledge, Log, Sending
from clusterwright.onhost.supervisor.replicas.serving import Serving
from clusterwright.onhost.supervisor.replicas.slots import FORMAT
from clusterwright.onhost.supervisor.wire import Message

LONGEST_VARIABLE = 100_000  # bytes; execve(2) takes 128 KiB


class Replicas:
    """The in-memory checkpoints of one host's ranks and replicas, for as long as its agent lives."""

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
        """Return the port where other hosts fetch and send parts of in-memory checkpoints."""
        return self._serving.port

    def report(self) -> Message:
        """Return the parts of in-memory checkpoints on this host, for the supervisor."""
        return self._holdings.report()

    def start(self, message: Message, host: str) -> Dict[str, str]:
        """Start a generation by the supervisor's start message: from now on replicas go to the host that this names.

        Return the environment variables for the ranks of `host`; empty if they do not restore from memory.
        """
        following = message["next"].get(host)
        self.begin(message["start"], (following[0], following[1]) if following else None)
        return self._memory_variables(self.memory(message["memory"])) if message["memory"] else {}

    def begin(self, generation: int, neighbor: Optional[Tuple[str, int]]) -> None:
        """Start a generation whose replicas go to `neighbor` (address and port), if there is one."""
        self._sending.begin(generation, neighbor)

    def variables(self, local_rank: int) -> Dict[str, str]:
        """Return the environment variables by which a rank finds the memory for copies of its state."""
        return {
            "CLUSTERWRIGHT_COPY": self._holdings.local_slots[local_rank].path,
            "CLUSTERWRIGHT_COPY_WAKE": self._sending.path,
        }

    def memory(self, chosen: Message) -> Message:
        """Return what a rank needs to restore: for each part a local path, or the address and port of a holder.

        `chosen` comes from the supervisor: `generation`, `step`, `world_size`, and for each rank the
        addresses and ports of the hosts that hold its part.
        """
        moment = {name: chosen[name] for name in ("generation", "step", "world_size")}
        parts: List[Message] = []
        for rank, places in enumerate(chosen["places"]):
            key = (moment["generation"], moment["step"], moment["world_size"], rank)
            path = self._holdings.path(key)
            address, port = places[0]
            parts.append({"rank": rank, **({"path": path} if path else {"address": address, "port": port})})
        return {"format": FORMAT, **moment, "token": self._token, "parts": parts}

    def _memory_variables(self, memory: Message) -> Dict[str, str]:
        """Return the variable with this description of the memory to restore from, as JSON.

        If it is long, as from a thousand ranks on, with the path of a file that has it.
        """
        text = json.dumps(memory)
        if len(text) > LONGEST_VARIABLE:
            self._long.truncate(0)
            os.pwrite(self._long.fileno(), text.encode(), 0)
            text = f"/proc/{os.getpid()}/fd/{self._long.fileno()}"
        return {"CLUSTERWRIGHT_MEMORY": text}

    def close(self) -> None:
        """Stop serving parts of in-memory checkpoints to other hosts."""
        self._serving.close()
        self._long.close()
