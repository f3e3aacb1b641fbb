"""The agent of one host: `python -m clusterwright.onhost.supervisor.node RUN ADDRESS PORT`.

It starts and ends ranks on the supervisor's orders. Without messages from the supervisor it ends them by
itself, so an isolated host never trains in parallel with the generation that replaced it.
"""

from __future__ import annotations

import collections
import os
import selectors
import signal
import socket
import sys
import time
import traceback
from typing import Any, Deque, Dict, Iterable, Mapping, Optional, Sequence, Set

from clusterwright.onhost.adapters import registry
from clusterwright.onhost.supervisor import console, meeting, network, schedulers, wakeup_socket, wire
from clusterwright.onhost.supervisor.failover import Failover
from clusterwright.onhost.supervisor.folder import Events, Folder, set_umask
from clusterwright.onhost.supervisor.hang import progress
from clusterwright.onhost.supervisor.hang.standstill import Standstill
from clusterwright.onhost.supervisor.heartbeat_thread import HeartbeatThread
from clusterwright.onhost.supervisor.host import forming, private, processes, wake
from clusterwright.onhost.supervisor.host import generation as g
from clusterwright.onhost.supervisor.host.ranks import Ranks
from clusterwright.onhost.supervisor.host.samples import Samples
from clusterwright.onhost.supervisor.job import InvalidRecordError, read_record
from clusterwright.onhost.supervisor.replicas.replicas import Replicas
from clusterwright.onhost.supervisor.root_cause import exits

# Agent and supervisor each count from the last message that they received; the agent's timeout is shorter, so it
# expires first even when one heartbeat was lost.
FENCE = 0.7
# Until a supervisor has sent its timeout, and then its first heartbeat; no ranks run yet.
INITIAL_TIMEOUT_S = 30.0
RETRY_S = 0.1
CONNECT_S = 0.3  # more than a round trip; a host that is down does not answer, and the agent retries


class Agent:
    """The agent of one host of the job: starts and ends its ranks on the supervisor's orders."""

    def __init__(self, run: str, address: str, port: int) -> None:
        self.folder = Folder(run)
        self.record = read_record(run)
        self.job, self.launch = self.record.job, self.record.launch
        self._launcher = registry.launcher(self.launch.launcher)
        self.host = schedulers.host_name()
        self.orders: Dict[str, Any] = {}
        self.leaving = False
        self._failover = Failover(self.folder, self.record, (address, port))
        self._exit_reported = False  # Slurm's SIGTERM was reported to the supervisor
        self._events = Events(self.folder, f"agent-{self.host}", self.host)
        self._samples = Samples(Events(self.folder, self.host, self.host, subfolder="samples"))
        self._ranks = Ranks(run, self.folder.path_to("logs", "agents.log"), wake.Pipe())
        self._standstill: Optional[Standstill] = None
        self._replicas: Optional[Replicas] = None
        self._notes: Deque[str] = collections.deque()  # log lines that the main thread sends
        self._answers: Deque[wire.Message] = collections.deque()  # of connection tests
        self._generation = 0
        self._training: Optional[g.Generation] = None
        self._ended: Set[int] = set()  # local ranks of the generation whose exit is recorded
        self._interface = ("", "")
        self._heartbeat: Optional[HeartbeatThread] = None

    def serve(self) -> int:
        """Connect to the supervisor and follow its orders, then those of the next one, until the run ends.

        Return 0 if a supervisor ended the run, 1 if no supervisor is left. Ranks are ended after each.
        """
        while True:
            line = self._connect()
            if line is None:
                return 1  # Slurm ends this job and starts the standby job
            over = self._follow(line)
            line.close()
            self._end_ranks()
            if over:
                self._failover.wait()
                return 0

    @property
    def _timeout_s(self) -> float:
        return FENCE * self.job.recovery.heartbeat_timeout

    def _connect(self) -> Optional[wire.WireLine]:
        """Connect to the current supervisor, with retries, and authenticate; return the connection.

        None if the run is over, this agent must leave, or no first supervisor answers in time.
        """
        first_until = time.monotonic() + INITIAL_TIMEOUT_S
        while not self.leaving and not self._failover.over:
            if not self.orders and time.monotonic() > first_until:
                return None
            if self.orders:
                self._failover.turn()
                self._ranks.excluded_pid = self._failover.child
            try:
                token = self.folder.token()  # before the supervisor waits for the proof
                connection = socket.create_connection(self._failover.supervisor_address, timeout=CONNECT_S)
                line = wire.WireLine(connection)
                try:
                    self._greet(line, token)
                except BaseException:
                    line.close()
                    raise
            except (OSError, wire.Broken, *wire.MALFORMED) as error:
                console.error(f"{self.host}: supervisor {self._failover.supervisor_address}: {error}")
                time.sleep(RETRY_S)
            else:
                return line
        return None

    def _greet(self, line: wire.WireLine, token: str) -> None:
        challenge, ours = wire.text(line.read_one(), "challenge"), wire.nonce()
        proof = wire.proof(token, self.host, challenge)
        line.send({"host": self.host, "pid": os.getpid(), "challenge": ours, "proof": proof})
        line.session = wire.PeerSession(token, challenge, ours, accepted=False)
        orders = line.read_one()["orders"]  # only the supervisor of this run can send it
        self._failover.greeted(orders)
        self.orders = orders
        interface = network.inside(self.launch.compute, network.interfaces())
        if interface is None:
            reason = f"no address inside the compute network {self.launch.compute}"
            line.send({"refused": reason})
            raise wire.Broken(reason)
        self._interface = interface
        self._start_replicas(token)
        line.send({"ready": interface[1], **self._facts()})
        wire.enable_keepalive(line.connection, self._timeout_s)
        line.connection.setblocking(False)  # noqa: FBT003 (the socket's own signature)
        self._heartbeat = HeartbeatThread(lambda: self._send_heartbeat(line), float(orders["beat"]))
        self._heartbeat.start()
        if not self._launcher.on_host:
            self._pass_on(
                line, self._ranks.warm(self._base(), self.launch.imports, standby=self.job.warm.standby)
            )
            self._ranks.prepare_store(self._interface[1])

    def _send_heartbeat(self, line: wire.WireLine) -> bool:
        """Send one heartbeat, from a thread; return False once the connection is closed or broken."""
        try:
            line.send({"beat": self._generation})
        except wire.Broken:
            return False
        return True

    def _facts(self) -> wire.Message:
        """Return what the agent reports when ready and when idle: its store's port and its in-memory replicas."""
        port = network.free_port(self._interface[1]) if self._launcher.on_host else self._ranks.next_store
        replica_facts = (
            {"copies": self._replicas.port, "memory": self._replicas.report()} if self._replicas else {}
        )
        return {"store": port, **replica_facts}

    def _start_replicas(self, token: str) -> None:
        """Open the memory for in-memory checkpoints of this host's ranks, once, unless they are disabled."""
        if not self._replicas and not self._launcher.on_host and self.job.checkpoint.memory != "never":
            listener = network.listen(self._interface[1])
            self._replicas = Replicas(
                listener, token, self.job.gpus_per_node, self._acknowledge, self._notes.append
            )

    def _acknowledge(self, local_rank: int, step: int) -> None:
        """Record in a rank's progress page that its replica of this step has reached the peer host."""
        if self._standstill:
            self._standstill.pages[local_rank][progress.SHIPPED] = step

    def _follow(self, line: wire.WireLine) -> bool:
        """Execute the supervisor's messages; return True when it ends the run, False when the connection is lost."""
        beat_s = float(self.orders["beat"])
        last_message_at = now = time.monotonic()
        timeout_s = INITIAL_TIMEOUT_S
        with selectors.DefaultSelector() as selector:
            for source in (line, self._ranks.pipe, wakeup_socket.open_wakeup_socket()):
                selector.register(source, selectors.EVENT_READ)
            try:
                while now - last_message_at < timeout_s:
                    if self._heartbeat:
                        self._heartbeat.turn()
                    ready = {key.fileobj for key, _ in selector.select(beat_s / 4)}
                    now = time.monotonic()  # what follows may wait for the folder, and messages with it
                    wakeup_socket.drain()
                    for message in line.read() if line in ready else ():
                        last_message_at, timeout_s = now, self._timeout_s
                        if "end" in message:
                            return True
                        self._obey(line, message)
                    self._pass_on(
                        line, [*self._ranks.read_messages(), *self._ranks.reap(), *self._ranks.poll()]
                    )
                    if self._standstill:
                        self._pass_on(line, self._standstill.turn(self._ranks.running, time.monotonic()))
                    pages = self._standstill.pages if self._standstill else None
                    self._samples.poll(self._ranks.running, pages, self._generation, time.monotonic())
                    self._send_notes(line)
            except wire.Broken as error:
                console.error(f"{self.host}: lost the supervisor: {error}")
            except wire.MALFORMED:
                console.error(f"{self.host}: invalid message of the supervisor: {traceback.format_exc()}")
        return False

    def _send_notes(self, line: wire.WireLine) -> None:
        """Send queued notes and test results to the supervisor, and once that this step got SIGTERM."""
        while self._notes:
            line.send({"note": self._notes.popleft()})
        while self._answers:
            line.send(self._answers.popleft())
        if self.leaving and not self._exit_reported:
            self._exit_reported = True
            line.send({"leaving": True})

    def _obey(self, line: wire.WireLine, message: wire.Message) -> None:
        if "beat" in message:
            self._failover.record_beats(message["beat"])
        elif "start" in message:
            self._start(message)
        elif "meet" in message:
            meeting.start_probe(message, self._interface[1], self._answers.append)
        elif "examine" in message and self._standstill:
            self._standstill.examine(message)
        elif "leave" in message:
            self._ranks.terminate()
        elif "regroup" in message and not (self._standstill and self._standstill.request_regroup()):
            line.send({"deaf": message["regroup"]})
        elif "kill" in message:
            is_clear = self._end_ranks(with_stacks=bool(message.get("stacks")))
            line.send({"idle": message["kill"], **self._facts()} if is_clear else {"stuck": message["kill"]})
            if not self._launcher.on_host:
                self._ranks.prepare_store(self._interface[1])

    def _start(self, message: wire.Message) -> None:
        self._generation = message["start"]
        log_dir = self.folder.path_to("logs", str(self._generation), self.host)
        os.makedirs(log_dir, exist_ok=True)
        generation = g.Generation(
            number=self._generation, hosts=tuple(message["hosts"]), host=self.host, ranks=self.job.gpus_per_node,
            address=message["address"], port=message["port"], local_address=self._interface[1],
            interface=self._interface[0],
            restarts=self.launch.restarts, log_dir=log_dir, run=self.folder.path,
        )  # fmt: skip
        self._training, self._ended = generation, set()
        self._samples.begin(time.monotonic())
        cwd = self.launch.workdir or self.folder.path
        if self._launcher.on_host:
            env = {
                **self._launcher.environment,
                **self._base(),
                **message["environment"],
                "CLUSTERWRIGHT_GENERATION": str(self._generation),
            }
            env["PYTHONPATH"] = forming.python_path(env)
            argv = self._launcher.on_host(generation, self.launch.command)
            self._ranks.start_launcher(generation, argv, env, cwd)
            return
        self._standstill = self._standstill or Standstill(generation.ranks, str(self.job.recovery.hang))
        self._standstill.prepare(message, log_dir, generation.hosts.index(self.host) * generation.ranks)
        memory_variables = self._replicas.start(message, self.host) if self._replicas else {}
        self._ranks.start(
            generation,
            self.launch.command,
            {**message["environment"], **memory_variables},
            cwd,
            self._variables,
        )
        self._ranks.prepare_store(self._interface[1])

    def _variables(self, local_rank: int) -> Dict[str, str]:
        """Return the environment variables of one rank for its progress page and its in-memory checkpoints."""
        progress_variables = self._standstill.variables(local_rank) if self._standstill else {}
        return {**progress_variables, **(self._replicas.variables(local_rank) if self._replicas else {})}

    def _end_ranks(self, *, with_stacks: bool = False) -> bool:
        """End all ranks; return False if a process cannot be killed."""
        if self._standstill:
            self._standstill.end(with_stacks=with_stacks)
        return self._ranks.end()

    def _base(self) -> Mapping[str, str]:
        """Return the environment that all ranks of this host share."""
        local_hosts = self.job.nodes if self.record.local else 1  # local hosts share one machine
        threads = max(1, len(os.sched_getaffinity(0)) // (self.job.gpus_per_node * local_hosts))
        ours = {**private.compile_cache(os.environ), **os.environ, **private.secrets_of_user()}
        return g.environment(ours, self.folder.path, self.host, self._interface[0], threads)

    def _pass_on(self, line: wire.WireLine, messages: Iterable[wire.Message]) -> None:
        for message in messages:
            if "standby" in message:
                self._events.write("standby", self._generation, **message["standby"])
            line.send(self._exited(message) if "exited" in message else message)

    def _exited(self, message: wire.Message) -> wire.Message:
        """Return the message of a rank's exit completed with reason and step; write its event once per rank.

        A rank that raises is reported twice.
        """
        exit_message = exits.describe_exit(message, self._training, by_launcher=bool(self._launcher.on_host))
        step = self._standstill.pages[message["local_rank"]][progress.STEP] if self._standstill else 0
        exit_message.update({"step": step} if step else {})
        if message["local_rank"] not in self._ended:
            fields = {name: value for name, value in exit_message.items() if name != "exited"}
            self._events.write("rank_exit", message["exited"], **fields)
        self._ended.add(message["local_rank"])
        return exit_message


def main(arguments: Sequence[str]) -> int:
    """Run the agent of this host, for the run and the supervisor's address and port of the command line.

    Return 0 once the run has ended; 1 without a supervisor, or for an invalid job.json.
    """
    run, address, port = arguments
    processes.adopt_orphans()
    set_umask(run)  # container runtimes set their own
    try:
        agent = Agent(run, address, int(port))
    except InvalidRecordError as error:
        console.error(str(error))
        return 1
    # Slurm sends SIGTERM to every step at the end of a job, and at a preemption with a grace time, of which the batch
    # step gets no signal. The agent reports it, and the supervisor responds.
    signal.signal(signal.SIGTERM, lambda *_: setattr(agent, "leaving", True))
    signal.signal(signal.SIGCHLD, lambda *_: None)  # wakes `_follow`, which reaps ended ranks
    return agent.serve()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
