"""The agent of one host: `python -m clusterwright.train.agent.node RUN ADDRESS PORT`.

It starts and ends the ranks as the supervisor says, and ends them by itself when it hears nothing from the
supervisor: a host that was cut off never trains on beside the generation that replaced it.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import sys
import time
from typing import Any, Optional

from clusterwright.train.agent import network, orphan, private, processes, torchrun, wire
from clusterwright.train.agent.folder import Events, Folder
from clusterwright.train.agent.ranks import Ranks

BEAT_S = 1.0  # one message a second each way
# An agent counts silence from what it last heard, the supervisor from what it last heard; ours ends first even when
# one beat was lost on the way.
FENCE = 0.7
FIRST_SILENCE_S = 30.0  # until the supervisor has said what silence means


class Agent:
    """One host of the job."""

    def __init__(self, run: str, address: str, port: int) -> None:
        self.folder = Folder(run)
        self.host = (
            os.environ.get("CLUSTERWRIGHT_HOST") or os.environ.get("SLURMD_NODENAME") or socket.gethostname()
        )
        self.orders: dict[str, Any] = {}
        self.leaving = False
        self._supervisor = (address, port)
        self._events = Events(self.folder, f"agent-{self.host}", self.host)
        self._ranks = Ranks(self.folder.at("logs", "agents.log"))
        self._generation = 0
        self._own = ("", "")

    def serve(self) -> int:
        """Until the supervisor says that it is over, or is gone for good."""
        while True:
            line = self._connect()
            if line is None and self.leaving:
                return 1  # Slurm ends this job, and starts the one that stands by
            if line is None:
                return orphan.take_over(self.folder, self.orders, self.host)
            over = self._follow(line)
            line.close()
            self._ranks.end()
            if over:
                return 0

    @property
    def _silence_s(self) -> float:
        return FENCE * float(self.orders["silence"]) if self.orders else FIRST_SILENCE_S

    def _connect(self) -> Optional[wire.Line]:
        """A proven connection; None when nobody beats any more in the run's folder either."""
        pulse = orphan.Pulse(self.folder, time.monotonic())
        while not self.leaving and not pulse.stopped(time.monotonic(), self._silence_s):
            try:
                connection = socket.create_connection(self._supervisor, timeout=self._silence_s)
                line = wire.Line(connection)
                self._greet(line)
            except (OSError, wire.Broken) as why:
                sys.stderr.write(f"{self.host}: supervisor {self._supervisor}: {why}\n")
                time.sleep(BEAT_S / 4)
            else:
                return line
        return None

    def _greet(self, line: wire.Line) -> None:
        token = self.folder.token()
        challenge, ours = _one(line)["challenge"], wire.nonce()
        proof = wire.proof(token, self.host, challenge)
        line.send({"host": self.host, "pid": os.getpid(), "challenge": ours, "proof": proof})
        welcome = _one(line)
        if not wire.proven(welcome, token, "supervisor", ours):
            raise wire.Broken("what answers there is not the supervisor of this run")
        self.orders = welcome["orders"]
        found = network.inside(self.orders["compute"], network.interfaces())
        if found is None:
            why = f"no address inside the compute network {self.orders['compute']}"
            line.send({"refused": why})
            raise wire.Broken(why)
        self._own = found
        line.send({"ready": found[1]})
        wire.keep_alive(line.connection, self._silence_s)
        line.connection.setblocking(False)  # noqa: FBT003 (the socket's own signature)

    def _follow(self, line: wire.Line) -> bool:
        """Do what is said; True when the supervisor says that it is over, False when it is lost."""
        heard, beaten = time.monotonic(), 0.0
        with selectors.DefaultSelector() as selector:
            selector.register(line, selectors.EVENT_READ)
            selector.register(_children(), selectors.EVENT_READ)
            try:
                while time.monotonic() - heard < self._silence_s:
                    ready = selector.select(BEAT_S / 4)
                    _drain(_children())
                    for message in line.read() if any(key.fileobj is line for key, _ in ready) else ():
                        heard = time.monotonic()
                        if "end" in message:
                            return True
                        self._obey(line, message)
                    self._look_at_ranks(line)
                    self._ranks.keep_warm()
                    if time.monotonic() - beaten >= BEAT_S:
                        beaten = time.monotonic()
                        line.send({"beat": self._generation})
            except wire.Broken as why:
                sys.stderr.write(f"{self.host}: lost the supervisor: {why}\n")
        return False

    def _obey(self, line: wire.Line, message: wire.Message) -> None:
        if "prepare" in message:
            line.send(
                {
                    "port": network.bindable_port(self._own[1], message["seed"]),
                    "generation": message["prepare"],
                }
            )
        elif "start" in message:
            self._start_ranks(message)
        elif "kill" in message:
            gone = self._ranks.end()
            line.send({"idle": message["kill"]} if gone else {"stuck": message["kill"]})

    def _start_ranks(self, message: wire.Message) -> None:
        self._ranks.end()
        self._generation = message["start"]
        log_dir = self.folder.at("logs", str(self._generation), self.host)
        os.makedirs(log_dir, exist_ok=True)
        generation = torchrun.Generation(
            number=self._generation, hosts=tuple(message["hosts"]), host=self.host, ranks=self.orders["ranks"],
            address=message["address"], port=message["port"], own_address=self._own[1], interface=self._own[0],
            restarts=self.orders["restarts"], log_dir=log_dir, run=self.folder.path,
        )  # fmt: skip
        beside = len(generation.hosts) if self.orders["local"] else 1  # local hosts share one machine
        threads = max(1, len(os.sched_getaffinity(0)) // (self.orders["ranks"] * beside))
        ours = {**message["environment"], **private.secrets_of_user()}
        env = torchrun.environment(os.environ, generation, ours, threads)
        arguments = torchrun.arguments(generation, sys.executable, tuple(self.orders["command"]))
        cwd = self.orders["workdir"] or self.folder.path
        self._ranks.start(arguments, env, os.path.join(log_dir, "torchrun.log"), cwd)

    def _look_at_ranks(self, line: wire.Line) -> None:
        code = self._ranks.exit_code()
        if code is not None:
            self._events.write("agent_exit", self._generation, code=code)
            self._ranks.end()
            line.send({"exited": self._generation, "code": code})


def main() -> int:
    """Serve the supervisor named on the command line."""
    _, run, address, port = sys.argv
    processes.adopt_orphans()
    agent = Agent(run, address, int(port))
    # Slurm's SIGTERM at the end of a job goes to every step at once. While the supervisor is there, it answers it.
    signal.signal(signal.SIGTERM, lambda *_: setattr(agent, "leaving", True))
    return agent.serve()


def _one(line: wire.Line) -> wire.Message:
    messages = line.read()
    while not messages:
        messages = line.read()
    return messages[0]


_WAKE: list[socket.socket] = []


def _children() -> socket.socket:
    """Readable when a child has ended."""
    if not _WAKE:
        ours, kernels = socket.socketpair()
        for end in (ours, kernels):
            end.setblocking(False)  # noqa: FBT003 (the socket's own signature)
        signal.set_wakeup_fd(kernels.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        _WAKE.extend((ours, kernels))
    return _WAKE[0]


def _drain(wake: socket.socket) -> None:
    try:
        while wake.recv(4096):
            pass
    except BlockingIOError:
        return


if __name__ == "__main__":
    sys.exit(main())
