"""Holds the hosts' power to what Slurm wants: looks, decides for each host, and lets a few threads do it.

It is the only one that speaks to the provider, so no host is ever asked for two things at a time.
"""

import os
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, List, Optional

from clusterwright.onhost.power import decide, slurm
from clusterwright.onhost.power.act import Act
from clusterwright.onhost.power.providers import Provider, provider_of
from clusterwright.onhost.power.records import Records
from clusterwright.onhost.power.settings import KICK, LOG, STATE, Settings, settings
from clusterwright.slurm.nodes import Node

BUSY_S, CALM_S = 1.0, 10.0  # between two looks: while a host is on its way, and else
LISTENS = 4096
AT_ONCE = 32

Log = Callable[[str], None]


class Keeper:
    """One look after another."""

    def __init__(
        self, of: Settings, provider: Provider, records: Records, log: Log, ask: Any = slurm
    ) -> None:
        self.of, self.records, self.log, self.slurm = of, records, log, ask
        self.act = Act(of, provider, records, log, ask)
        self.pool = ThreadPoolExecutor(AT_ONCE)
        self.busy: Dict[str, Any] = {}  # what is being done, by host

    def look(self, now: float) -> float:
        """One look, and what follows from it; how long until the next."""
        self._reap()
        nodes = self.slurm.nodes()
        if nodes is None:
            return CALM_S  # slurmctld is away: nothing is switched without its wish
        todo: Dict[str, List[str]] = {}
        for host, record in self.records.of.items():
            if host in nodes and host not in self.busy:
                step = decide.decide(nodes[host], record, now, self.of)
                if step.do:
                    todo.setdefault(step.do, []).append(host)
                if step.why:
                    self.log(f"{host}: {step.why}")
        for verb, hosts in todo.items():
            for some in [[host] for host in hosts] if self.act.provider.apart else [hosts]:
                future = self.pool.submit(self.act.do, verb, some, now)
                self.busy.update(dict.fromkeys(some, future))
        self._wake(nodes)
        return BUSY_S if self.busy or self._moving(nodes) else CALM_S

    def _reap(self) -> None:
        """What is done is forgotten, and what went wrong in our own code is said."""
        for future in set(self.busy.values()):
            if future.done():
                self.busy = {host: other for host, other in self.busy.items() if other is not future}
                if future.exception():
                    self.log(f"fault of ours: {future.exception()!r}")
        self.records.write()

    def _moving(self, nodes: Dict[str, Node]) -> bool:
        mine = [nodes[host] for host in self.of.hosts if host in nodes]
        return any(node.state.is_switching or decide.failed(node) for node in mine)

    def _wake(self, nodes: Dict[str, Node]) -> None:
        chosen = decide.spares(nodes, self.of) if self.of.spares else []
        if chosen:
            said = self.slurm.update(chosen, "State=POWER_UP")
            self.log("{}: {}".format(",".join(chosen), said or "woken, to be spare"))


def listen(path: str) -> socket.socket:
    """Where Slurm's programs say that there is something to do."""
    if os.path.exists(path):
        os.unlink(path)
    line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    line.bind(path)
    return line


def heard(line: socket.socket, wait_s: float) -> Optional[str]:
    """What one of the programs says within the time."""
    line.settimeout(wait_s)
    try:
        return line.recv(LISTENS).decode(errors="replace")
    except OSError:
        return None


def say(words: str) -> None:
    """To the journal, and to a file beside Slurm's own."""
    sys.stdout.write(words + "\n")
    sys.stdout.flush()
    try:
        with open(LOG, "a") as file:
            file.write("{} {}\n".format(time.strftime("%Y-%m-%dT%H:%M:%S"), words))
    except OSError:
        pass  # a full disk is no reason to leave hosts as they are


def main() -> None:
    """Until systemd ends it."""
    of = settings()
    records = Records(os.path.join(STATE, "records.json"), list(of.hosts))
    keeper = Keeper(of, provider_of(of), records, say)
    line = listen(KICK)
    while True:
        words = heard(line, keeper.look(time.time()))
        if words:
            say(words)


if __name__ == "__main__":
    main()
