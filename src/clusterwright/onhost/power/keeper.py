"""The power daemon: polls Slurm, decides the next step of each host, and runs the steps in a few threads.

No other program calls the provider, so a host never has two requests at a time.
"""

import os
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, List, Optional

from clusterwright.onhost.lib.clean_text import clean
from clusterwright.onhost.power import decide, slurm
from clusterwright.onhost.power.actions import PowerActions
from clusterwright.onhost.power.providers import Provider, provider_of
from clusterwright.onhost.power.records import Records
from clusterwright.onhost.power.settings import KICK, LOG, STATE, PowerSettings, settings
from clusterwright.slurm.nodes import Node

BUSY_S, CALM_S = 1.0, 10.0  # between polls: while a host changes state, and otherwise
LISTENS = 4096
AT_ONCE = 32

Log = Callable[[str], None]


class Keeper:
    """The poll loop of the power daemon, with its running steps."""

    def __init__(
        self,
        power_settings: PowerSettings,
        provider: Provider,
        records: Records,
        log: Log,
        slurm_client: Any = slurm,
    ) -> None:
        self.settings, self.records, self.log, self.slurm = power_settings, records, log, slurm_client
        self.actions = PowerActions(power_settings, provider, records, log, slurm_client)
        self.pool = ThreadPoolExecutor(AT_ONCE)
        self.busy: Dict[str, Any] = {}  # running steps, by host

    def poll(self, now: float) -> float:
        """Poll Slurm once, start the steps that hosts need, and return the seconds until the next poll.

        Nothing starts if slurmctld does not respond, or on a host whose last step is still running.
        """
        self._reap()
        nodes = self.slurm.nodes()
        if nodes is None:
            return CALM_S  # slurmctld does not respond: without node states no host is powered up or down
        todo: Dict[str, List[str]] = {}
        for host, record in self.records.by_host.items():
            if host in nodes and host not in self.busy:
                step = decide.decide(nodes[host], record, now, self.settings)
                if step.do:
                    todo.setdefault(step.do, []).append(host)
                if step.reason:
                    self.log(f"{host}: {step.reason}")
        for verb, hosts in todo.items():
            for some in [[host] for host in hosts] if self.actions.provider.is_per_host else [hosts]:
                future = self.pool.submit(self.actions.do, verb, some, now)
                self.busy.update(dict.fromkeys(some, future))
        self._wake(nodes)
        return BUSY_S if self.busy or self._moving(nodes) else CALM_S

    def _reap(self) -> None:
        """Remove steps that have finished, log their internal errors, and write the records."""
        for future in set(self.busy.values()):
            if future.done():
                self.busy = {host: running for host, running in self.busy.items() if running is not future}
                if future.exception():
                    self.log(f"internal error: {future.exception()!r}")
        self.records.write()

    def _moving(self, nodes: Dict[str, Node]) -> bool:
        managed_nodes = [nodes[host] for host in self.settings.hosts if host in nodes]
        return any(node.state.is_switching or decide.failed(node) for node in managed_nodes)

    def _wake(self, nodes: Dict[str, Node]) -> None:
        chosen = decide.spares(nodes, self.settings) if self.settings.spares else []
        if chosen:
            error = self.slurm.update(chosen, "State=POWER_UP")
            self.log("{}: {}".format(",".join(chosen), error or "powered up as a spare"))


def listen(path: str) -> socket.socket:
    """Return a new datagram socket at the path, by which slurm_hook.py wakes the daemon."""
    if os.path.exists(path):
        os.unlink(path)
    line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    line.bind(path)
    return line


def receive(line: socket.socket, wait_s: float) -> Optional[str]:
    """Wait for a datagram of slurm_hook.py on the socket; return its text as one line, None after `wait_s` seconds."""
    line.settimeout(wait_s)
    try:
        return clean(line.recv(LISTENS).decode(errors="replace"), lines=False)
    except OSError:
        return None


def log_message(message: str) -> None:
    """Write a message to the journal (stdout), and to a file beside Slurm's logs."""
    sys.stdout.write(message + "\n")
    sys.stdout.flush()
    try:
        with open(LOG, "a") as file:
            file.write("{} {}\n".format(time.strftime("%Y-%m-%dT%H:%M:%S"), message))
    except OSError:
        pass  # power control continues on a full disk


def main() -> None:
    """Run the daemon that powers hosts on and off for Slurm, until systemd stops the unit."""
    power_settings = settings()
    records = Records(os.path.join(STATE, "records.json"), list(power_settings.hosts))
    keeper = Keeper(power_settings, provider_of(power_settings), records, log_message)
    line = listen(KICK)
    while True:
        message = receive(line, keeper.poll(time.time()))
        if message:
            log_message(message)


if __name__ == "__main__":
    main()
