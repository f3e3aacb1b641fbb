"""The keeper of one host of a run without a scheduler: `python -m ...supervisor.host_keeper RUN HOST`.

It runs the host's agent, again after it has ended, and starts a supervisor where none continues the run: at the start
on the first host, after a handoff on the host that handed off, otherwise on any host. It ends with the run.
"""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import sys
import time
from typing import Any, Dict, Optional, Tuple

from clusterwright.onhost.lib.processes import Process
from clusterwright.onhost.lib.run_module import module_arguments
from clusterwright.onhost.lib.run_outcome import EXIT_CODES, FAILED
from clusterwright.onhost.supervisor import console, heartbeat
from clusterwright.onhost.supervisor.ending import EXIT_HANDOFF
from clusterwright.onhost.supervisor.folder import Folder, open_run
from clusterwright.onhost.supervisor.host import processes
from clusterwright.onhost.supervisor.job import JobRecord
from clusterwright.onhost.supervisor.schedulers import AGENT
from clusterwright.onhost.supervisor.ssh_hosts import SCRIPT

SUPERVISOR = "clusterwright.onhost.supervisor.supervisor"
TICK_S = 0.5
RESTART_S = 3.0  # between two starts of an agent
STALLED_S = 30.0  # without a heartbeat: agents that live have started another supervisor within two timeouts
OVER_S = 15.0  # after another host's handoff, whose own keeper starts the next supervisor at once
STAGGER_S = 2.0  # between the hosts, so that one starts a supervisor
LEASE = "lease"  # a counter that the command inside an allocation raises; a scheduler may kill it on one host only
LEASE_S = 60.0  # without a change, after which the run is canceled
SHUTDOWN_S = 60.0  # for the agent and the supervisor to end by themselves


class Keeper:
    """Runs the agent of one host and, where none continues the run, its next supervisor."""

    def __init__(self, folder: Folder, record: JobRecord, host: str) -> None:
        self.folder, self.record, self.host = folder, record, host
        self.leaving = False
        self._agent: Optional[Process] = None
        self._supervisor: Optional[Process] = None
        self._agent_at = 0.0
        self._heartbeat = heartbeat.Heartbeat(heartbeat.Beat(), time.monotonic())
        self._lease: Tuple[str, float] = ("", 0.0)  # its text, and when that changed
        self._idle_since: Optional[float] = None  # since when no supervisor continues the run
        self._environment = {**os.environ, "CLUSTERWRIGHT_HOST": host}

    def run(self) -> int:
        """Keep the host's agent and, if needed, a supervisor running until the run ends; then end them, and return 0.

        It also ends at a signal, or if the run's folder is removed.
        """
        while not self.leaving and not self.folder.has("ended.json"):
            try:
                os.listdir(
                    self.folder.path
                )  # NFS: what other hosts wrote in the meantime is visible after this
            except FileNotFoundError:
                console.error(f"{self.host}: {self.folder.path} is removed")
                break
            except OSError as error:
                console.error(f"{self.host}: {error}")
            self.check_lease(time.monotonic())
            self.turn(time.monotonic())
            time.sleep(TICK_S)
        self.end()
        return 0

    def turn(self, now: float) -> None:
        """Collect processes that have ended; start the agent if there is a supervisor, else the next supervisor.

        A supervisor only once none has continued the run for long enough.
        """
        document = self.folder.read(heartbeat.NAME)
        stalled_s = self._heartbeat.stalled_s(heartbeat.Beat.from_document(document), now)
        self._collect()
        if document and not document.get("over") and stalled_s < STALLED_S:
            self._idle_since = None
            if self._agent is None and now >= self._agent_at + RESTART_S:
                self._start_agent(document, now)
            return
        self._idle_since = self._idle_since or now
        if now - self._idle_since >= self._restart_delay_s(document):
            self._start_supervisor()

    def check_lease(self, now: float) -> None:
        """Cancel the run if its lease file has not changed for LEASE_S: the command that holds it is gone.

        A run without a lease outlives its command.
        """
        try:
            with open(self.folder.path_to(LEASE), encoding="ascii") as file:
                text = file.read()
        except (OSError, ValueError):
            return
        if text != self._lease[0]:
            self._lease = (text, now)
        elif now - self._lease[1] >= LEASE_S and not self.folder.has("cancelled"):
            console.error(f"{self.host}: the command that started the run in its allocation is gone")
            self.folder.claim("cancelled", "")

    def end(self) -> None:
        """Wait for agent and supervisor to end, then kill what is left of the run on this host."""
        document = self.folder.read(heartbeat.NAME)
        if self._supervisor and (self.leaving or document.get("host") != self.host):
            self._supervisor.terminate()  # another one has replaced it
        if self._agent and self.leaving:
            self._agent.terminate()
        deadline = time.monotonic() + SHUTDOWN_S
        while (self._agent or self._supervisor) and time.monotonic() < deadline:
            self._collect()
            time.sleep(TICK_S / 5)
        processes.end_descendants(SHUTDOWN_S)

    def _restart_delay_s(self, document: Dict[str, Any]) -> float:
        """Return the seconds without a supervisor after which this host starts one; later hosts of the list wait more.

        `document` is the last heartbeat file; the delay is 0 on the host whose supervisor ended its job.
        """
        rank = self.record.host_names.index(self.host)
        if not document:
            return STALLED_S * bool(rank) + STAGGER_S * rank
        is_last_host = document.get("over") and document.get("host") == self.host
        return 0.0 if is_last_host else OVER_S + STAGGER_S * rank

    def _start_agent(self, document: Dict[str, Any], now: float) -> None:
        """Start this host's agent as a process, which connects to the supervisor that the heartbeat file names.

        `now` is monotonic.
        """
        address, port = heartbeat.listen_address(document)
        argv = [sys.executable, *module_arguments(AGENT, self.folder.path, address, str(port))]
        self._agent = processes.start(argv, self._environment, self.folder.path_to("logs", "agents.log"))
        self._agent_at = now

    def _start_supervisor(self) -> None:
        """Start the next supervisor, unless this host's agent or last supervisor still runs.

        The latter is terminated first.
        """
        if self._agent:
            return
        if self._supervisor:
            self._supervisor.terminate()  # another one had replaced it
            return
        argv = [sys.executable, *module_arguments(SUPERVISOR, self.folder.path)]
        self._supervisor = processes.start(argv, self._environment, self.folder.path_to("job.out"))
        self._heartbeat = heartbeat.Heartbeat(self._heartbeat.last_beat, time.monotonic())
        self._idle_since = time.monotonic() + STALLED_S  # until its first heartbeat

    def _collect(self) -> None:
        """Forget an agent or supervisor of this host that has ended.

        A supervisor that failed by itself would fail again, so it ends the run as failed.
        """
        if self._agent and self._agent.poll() is not None:
            self._agent = None
        code = self._supervisor.poll() if self._supervisor else None
        if code is None:
            return
        self._supervisor, self._idle_since = None, None
        if code > 0 and code != EXIT_HANDOFF and not self.folder.has("ended.json"):
            reason = f"the supervisor on {self.host} ended with exit code {code}; see {self.folder.path_to('job.out')}"
            outcome = {"outcome": FAILED, "code": EXIT_CODES[FAILED], "reason": reason, "time": time.time()}
            self.folder.write("ended.json", outcome)


def lock(run: str, host: str) -> Optional[socket.socket]:
    """Return a socket that is the lock of this run's keeper on this host; None if another process holds it."""
    digest = hashlib.sha256(f"{run}\0{host}".encode()).hexdigest()[:32]
    holder = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        holder.bind(f"\0clusterwright-{os.getuid()}-{digest}")
    except OSError:
        holder.close()
        return None
    return holder


def main() -> int:
    """Keep this host in the run of the command line; return the exit code, 0 at once if another process does so.

    If the run was resumed meanwhile, this process is replaced by a new keeper.
    """
    run, host = sys.argv[1:]
    holder = lock(run, host)
    if holder is None:
        return 0
    folder, record = open_run(run)
    processes.adopt_orphans()
    keeper = Keeper(folder, record, host)

    def stop(_received: int, _frame: object) -> None:
        keeper.leaving = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with holder:
        code = keeper.run()
    script = folder.path_to(SCRIPT)
    if not keeper.leaving and not folder.has("ended.json") and os.path.exists(script):
        # The run was resumed while this keeper ended its processes.
        os.execv("/bin/sh", ["sh", script, host])  # noqa: S606 (the script of the run)
    return code


if __name__ == "__main__":
    sys.exit(main())
