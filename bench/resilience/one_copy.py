"""Experiment 8, one in-memory checkpoint sent to a peer host: the time that training waits, and all CPU time.

    python -m bench.resilience.one_copy [--out FILE] [--seeds 10] [--quick]

A rank and both agents are threads of one process, with real shared memory and sockets; no training runs.
`stall` is the copy that training waits for, `memcpy` a copy of as many bytes; `_cpu` are CPU seconds, which depend
little on load; `all_cpu` is the CPU time of copy, checksums, sending and receiving.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Any

import torch

from bench.resilience.lines import Lines, load, options, say
from clusterwright.onhost.supervisor.replicas.replicas import Replicas as Agent
from clusterwright.runtime.checkpoints.part import Chunk
from clusterwright.runtime.checkpoints.writer import SaveMoment, Writer
from clusterwright.runtime.group import Group

MEGABYTES = (1, 30, 300)
PIECES = 10
WARM_UP = 4  # both slots, and both of the peer, have been written once
TOKEN = "a" * 64


class Pair:
    """Two agents, and a rank of the first with a state of a given size."""

    def __init__(self, size: int) -> None:
        self.reached = 0
        self.agents = [Agent(socket.create_server(("127.0.0.1", 0)), TOKEN, 1, self._mark, say) for _ in "12"]
        self.agents[0].begin(1, ("127.0.0.1", self.agents[1].port))
        self.state = [Chunk(str(number), torch.randn(size // 4 // PIECES)) for number in range(PIECES)]
        alone = Group(0, 0, 1, torch.device("cpu"), None)
        self.writer = Writer(alone, 1, self.agents[0].variables(0))
        self.writer.request_capacity(self.state)
        while not self.writer.ready():
            time.sleep(0.01)
        for step in range(1, WARM_UP + 1):
            self.copy(step)

    def _mark(self, _: int, step: int) -> None:
        self.reached = step

    def copy(self, step: int) -> tuple[float, float]:
        """Copy a step and wait for its arrival; return wall and CPU seconds that training waits."""
        found = timed(lambda: self.writer.copy(step, self.state, SaveMoment(1, step - 1)))
        while self.reached != step:
            time.sleep(0.002)
        self.agents[1]._holdings.supersede((1, step), (1, step - 1))  # noqa: SLF001 (in place of that host's ranks)
        return found

    def close(self) -> None:
        """End both agents."""
        self.writer.close()
        for agent in self.agents:
            agent.begin(2, None)
            agent.close()


def timed(act: Callable[[], Any]) -> tuple[float, float]:
    """Return wall and CPU seconds of a call in this thread."""
    wall, own = time.perf_counter(), time.thread_time()
    act()
    return time.perf_counter() - wall, time.thread_time() - own


def main() -> None:
    """Measure copies of all sizes."""
    given = options(__doc__ or "", seeds=10, quick=2)
    lines = Lines("copies", given.out)
    torch.set_num_threads(1)
    for size in MEGABYTES:
        pair = Pair(size * 1_000_000)
        source = torch.ones(size * 1_000_000, dtype=torch.uint8)
        target = source.clone()
        for seed in range(1, given.seeds + 1):
            busy, before = load(), time.process_time()
            stall, stall_cpu = pair.copy(WARM_UP + seed)
            everything = time.process_time() - before
            memcpy, memcpy_cpu = timed(lambda: target.copy_(source))  # noqa: B023 (called at once)
            seconds = {"stall": stall, "stall_cpu": stall_cpu, "memcpy": memcpy, "memcpy_cpu": memcpy_cpu,
                       "all_cpu": everything}  # fmt: skip
            lines.write("ours", case=f"one copy, {size} MB", seed=seed, seconds=seconds, load=busy)
        pair.close()


if __name__ == "__main__":
    main()
