"""Keeps one training alive on the hosts of one job: `python -m ...agent.supervisor OPTIONS -- COMMAND`.

It is the batch step. Every host of the job has an agent (node.py); what to do next is decided in decide.py; here are
the sockets, the signals and the run's folder.
"""

from __future__ import annotations

import dataclasses
import os
import selectors
import signal
import socket
import sys
import time
from typing import Optional, Tuple, Union

from clusterwright.train.agent import decide as d
from clusterwright.train.agent import network, room, wire
from clusterwright.train.agent.folder import Events, Folder
from clusterwright.train.agent.options import Options, read

TICK_S = 0.2
BEAT_S = 1.0
# How often an agent is started anew on a lost host: a reboot takes a lab host 2 s and a server minutes.
REJOIN_S = 15.0
SAVED_BY_S = (
    10  # ranks are to have saved this long before the time limit: srun and Slurm need the rest to end the job
)
FAREWELL_S = 2.0  # agents get this long to leave by themselves

EXIT = {d.FINISHED: 0, d.FAILED: 1, d.NO_PROGRESS: 4, d.CANCELLED: 143}
EXIT_HANDED_OVER = (
    75  # sysexits.h EX_TEMPFAIL; only the stand-in for Slurm sees it, under Slurm a hand-over is a success
)


class Peer:
    """An agent at the other end of a connection; a stranger until it has proved the token."""

    def __init__(self, line: wire.Line) -> None:
        self.line, self.challenge = line, wire.nonce()
        self.host, self.pid, self.address = "", 0, ""
        self.heard = time.time()


class Supervisor:
    """One job of the run's chain."""

    def __init__(self, options: Options, folder: Folder, place: Union[room.Slurm, room.Local]) -> None:
        self.options, self.folder, self.room = options, folder, place
        self.started = time.time()
        self.code: Optional[int] = None
        self.number = folder.join_chain(place.job_id)
        self.left = options.successors - self.number + 1
        self.hosts = place.hosts()
        self.host = os.environ.get("SLURMD_NODENAME", socket.gethostname())
        self.events = Events(folder, f"supervisor-{self.number}", self.host)
        self.token = folder.token()
        self.policy = d.Policy(
            hosts=self.hosts, nodes=options.nodes, min_nodes=options.min_nodes, on_host_loss=options.on_host_loss,
            restarts=options.restarts, successors=self.left, grace_s=max(5, options.grace - SAVED_BY_S),
        )  # fmt: skip
        self.state = d.State(since=self.started, generation=folder.last_generation())
        self.peers: dict[str, Peer] = {}
        self.strangers: list[Peer] = []
        self.rejoin: dict[str, float] = {}
        self.signalled = ""
        if not folder.has("cancelled"):
            folder.remove("stop")  # of a job before this one, which Slurm killed before it could take it back
        self.beaten, self.beats = 0.0, 0
        self.listener = _listen(options, int(place.job_id))

    def run(self) -> int:
        """Until the run is over, or another job has it; the exit code."""
        run = os.path.basename(self.folder.path)
        self.say(f"job {self.room.job_id}, number {self.number} of run {run}, on {','.join(self.hosts)}")
        self.events.write("job_start", self.state.generation, job_id=self.room.job_id, hosts=list(self.hosts))
        self.beat(time.time())
        self.room.start_agents(self.hosts, *self.listener.getsockname())
        if self.left > 0 and self.options.on_host_loss != "fail":
            refused = self.room.submit_standby()
            if refused:
                self.say(f"no successor stands by: {refused}")
        with selectors.DefaultSelector() as self.selector:
            self.selector.register(self.listener, selectors.EVENT_READ)
            while self.code is None:
                self.turn()
            self.farewell()
        return self.code

    def turn(self) -> None:
        """One round: what arrived, then what time brings."""
        for key, _ in self.selector.select(TICK_S):
            if key.fileobj is self.listener:
                self.accept()
            else:
                self.hear(key.data)
        now = time.time()
        if now - self.beaten >= BEAT_S:
            self.beat(now)
            self.look_around(now)
        self.feed("tick")

    # What arrives

    def accept(self) -> None:
        """A stranger gets a challenge."""
        connection, _ = self.listener.accept()
        connection.setblocking(False)  # noqa: FBT003 (the socket's own signature)
        wire.keep_alive(connection, self.options.silence)
        peer = Peer(wire.Line(connection))
        self.strangers.append(peer)
        self.selector.register(peer.line, selectors.EVENT_READ, peer)
        self.tell(peer, {"challenge": peer.challenge})

    def hear(self, peer: Peer) -> None:
        """Whatever one connection says; a broken one is a lost host."""
        try:
            messages = peer.line.read()
        except wire.Broken as why:
            self.close(peer, str(why))
            return
        for message in messages:
            if self.code is not None:
                return
            peer.heard = time.time()
            if peer.address:
                self.understand(peer, message)
            else:
                self.greet(peer, message)

    def greet(self, peer: Peer, message: wire.Message) -> None:
        """First the proof, then the address; only then is it one of ours."""
        if not peer.host:
            host = str(message.get("host", ""))
            if host not in self.hosts or not wire.proven(message, self.token, host, peer.challenge):
                self.say("turned away a connection that does not know the run's token")
                self.close(peer, "stranger")
                return
            peer.host, peer.pid = host, int(message["pid"])
            proof = wire.proof(self.token, "supervisor", str(message["challenge"]))
            self.tell(peer, {"proof": proof, "orders": self.orders()})
        elif "ready" in message:
            self.admit(peer, str(message["ready"]))
        else:
            self.say(f"{peer.host}: {message.get('refused', message)}")
            self.close(peer, "refused")

    def admit(self, peer: Peer, address: str) -> None:
        """One agent a host: the same one again replaces itself, another one is sent away."""
        before = self.peers.get(peer.host)
        if before and before.pid != peer.pid:
            self.tell(peer, {"end": True})
            self.close(peer, "second agent")
            return
        if before:
            self.close(before, "connected again")
        peer.address = address
        self.strangers.remove(peer)
        self.peers[peer.host] = peer
        self.rejoin.pop(peer.host, None)
        self.say(f"{peer.host} is ready at {address}")
        self.feed("joined", host=peer.host)

    def understand(self, peer: Peer, message: wire.Message) -> None:
        """What an agent reports."""
        if "beat" in message:
            self.feed("beat", host=peer.host)
        elif "port" in message and message["generation"] == self.state.generation:
            self.start_ranks(peer, message["port"])
        elif "exited" in message:
            self.say(f"{peer.host}: torchrun left with {message['code']} in generation {message['exited']}")
            self.feed("exited", host=peer.host, generation=message["exited"], code=message["code"])
        elif "idle" in message:
            self.feed("idle", host=peer.host, generation=message["idle"])

    # What time brings

    def beat(self, now: float) -> None:
        """A sign of life on both ways: to every agent, and in the run's folder."""
        self.beaten, self.beats = now, self.beats + 1
        self.folder.write("pulse", {"job_id": self.room.job_id, "beats": self.beats})
        for peer in list(self.peers.values()):
            self.tell(peer, {"beat": self.beats})

    def look_around(self, now: float) -> None:
        """Silence, signals, wishes, newer jobs, hosts that may be back."""
        for peer in [*self.peers.values(), *self.strangers]:
            if now - peer.heard > self.options.silence:
                self.close(peer, "silent")
        self.room.reap()
        if not self.folder.is_newest(self.number):
            self.say("a later job of this run has begun: letting go")
            self.room.cancel_standby()
            self.code = 0
        elif self.wish(now):
            self.feed("asked", why=self.wish(now))
        for host, due in self.rejoin.items():
            if now >= due:
                self.rejoin[host] = now + REJOIN_S
                self.room.start_agents([host], *self.listener.getsockname())

    def wish(self, now: float) -> str:
        """Why the ranks are to leave, if they are."""
        if self.signalled or self.state.asked:
            return self.signalled or self.state.asked
        if self.folder.has("cancelled") or self.folder.has("stop"):
            return d.CANCELLED
        over = (
            self.options.local
            and self.options.time
            and now >= self.started + self.options.time - self.options.grace
        )
        return "time-limit" if over else ""

    def on_signal(self, number: int) -> None:
        """USR1 comes before the time limit; TERM from a preemption or from scancel."""
        if number == signal.SIGUSR1:
            self.signalled = self.signalled or "time-limit"
        elif self.room.was_cancelled():
            self.room.cancel_standby()
            self.signalled = d.CANCELLED
        else:
            self.signalled = "preempted"

    # What is decided, and done

    def feed(self, kind: str, *, host: str = "", generation: int = 0, code: int = 0, why: str = "") -> None:
        """Let decide.py see the event, and do what it says."""
        event = d.Event(
            kind, time.time(), host, generation, code, why,
            step=self.folder.newest_step(self.options.checkpoints), finished=self.folder.has("finished.json"),
        )  # fmt: skip
        self.state, actions = d.decide(self.policy, self.state, event)
        for action in actions:
            self.do(action)

    def do(self, action: d.Action) -> None:
        """One action."""
        if isinstance(action, d.Start):
            self.prepare(action)
        elif isinstance(action, d.Ask):
            self.say(f"asking the ranks to save and leave: {action.why}")
            self.folder.write("stop", {"why": action.why})
        elif isinstance(action, d.Kill):
            self.say(f"ending generation {action.generation}: {action.why}")
            self.events.write("generation_end", action.generation, why=action.why)
            for host in action.hosts:
                self.tell(self.peers[host], {"kill": action.generation})
        elif isinstance(action, d.Drop):
            self.close(self.peers[action.host], "does not end its ranks")
        elif isinstance(action, d.HandOver):
            self.hand_over(action)
        else:
            self.end(action.outcome, action.why)

    def prepare(self, action: d.Start) -> None:
        """The first host finds a port it can listen on; `start_ranks` follows on its answer."""
        self.folder.remove("stop")
        os.makedirs(self.folder.at("logs", str(action.generation)), exist_ok=True)
        seed = (
            int(self.room.job_id) * 31 + action.generation
        )  # 31: jobs that begin together do not try the same ports
        self.tell(self.peers[action.hosts[0]], {"prepare": action.generation, "seed": seed})

    def start_ranks(self, first: Peer, port: int) -> None:
        """Every member is told the same."""
        hosts = list(self.state.members)
        self.say(
            f"generation {self.state.generation} on {','.join(hosts)}, rendezvous at {first.address}:{port}"
        )
        self.events.write(
            "generation_start", self.state.generation, hosts=hosts, address=first.address, port=port
        )
        end = float(os.environ.get("SLURM_JOB_END_TIME") or self.started + self.options.time)
        environment = {
            "CLUSTERWRIGHT_CHECKPOINTS": self.options.checkpoints,
            "CLUSTERWRIGHT_CHECKPOINT_EVERY": self.options.every,
            "CLUSTERWRIGHT_CHECKPOINT_KEEP": str(self.options.keep),
            **({"CLUSTERWRIGHT_DEADLINE": f"{end - SAVED_BY_S:.0f}"} if self.options.time else {}),
        }
        message = {
            "start": self.state.generation, "hosts": hosts, "address": first.address, "port": port,
            "environment": environment,
        }  # fmt: skip
        for host in hosts:
            if host in self.peers:
                self.tell(self.peers[host], message)

    def hand_over(self, action: d.HandOver) -> None:
        """A successor goes on; when Slurm refuses one, the run has failed."""
        job_id, said = self.room.hand_over(action.lost)
        if not job_id:
            self.end(d.FAILED, f"{action.why}; Slurm refused a successor: {said}")
            return
        self.say(f"successor {job_id}: {action.why}")
        self.events.write(
            "successor", self.state.generation, job_id=job_id, exclude=list(action.lost), why=action.why
        )
        self.events.write("job_end", self.state.generation, outcome="handed-over", why=action.why)
        self.code = EXIT_HANDED_OVER if self.options.local else 0

    def end(self, outcome: str, why: str) -> None:
        """The run is over: nobody follows."""
        self.room.cancel_standby()
        self.say(f"{outcome}: {why}")
        self.folder.write(
            "ended.json", {"outcome": outcome, "code": EXIT[outcome], "why": why, "time": time.time()}
        )
        self.events.write("job_end", self.state.generation, outcome=outcome, why=why)
        self.code = EXIT[outcome]

    def farewell(self) -> None:
        """Agents end their ranks and leave; what does not leave is ended by Slurm with the job."""
        for peer in list(self.peers.values()):
            self.tell(peer, {"end": True})
        until = time.monotonic() + FAREWELL_S
        while self.peers and time.monotonic() < until:
            for key, _ in self.selector.select(TICK_S):
                if isinstance(key.data, Peer):
                    self.hear(key.data)
        self.room.end()

    # Small things

    def orders(self) -> wire.Message:
        """What an agent has to know, also to call a successor when we are gone."""
        more = {"successors": self.left, "supervisor": self.host}
        return {**dataclasses.asdict(self.options), **more}

    def tell(self, peer: Peer, message: wire.Message) -> None:
        """Send; who cannot be told is lost."""
        try:
            peer.line.send(message)
        except wire.Broken as why:
            self.close(peer, str(why))

    def close(self, peer: Peer, why: str) -> None:
        """The end of a connection; if it was a host of ours, the host is lost until it joins again."""
        if peer.line.fileno() < 0:
            return
        self.selector.unregister(peer.line)
        peer.line.close()
        if peer in self.strangers:
            self.strangers.remove(peer)
        if self.peers.get(peer.host) is not peer:
            return
        del self.peers[peer.host]
        if self.code is not None:
            return
        silence = round(time.time() - peer.heard, 2)
        self.say(f"lost {peer.host} ({why}); last heard {silence} s ago")
        self.events.write("host_lost", self.state.generation, lost=peer.host, silence_s=silence, why=why)
        self.rejoin[peer.host] = time.time() + BEAT_S
        self.feed("lost", host=peer.host)

    def say(self, text: str) -> None:
        """One line for people, into the job's own output."""
        sys.stdout.write(f"{time.strftime('%H:%M:%S')} {text}\n")
        sys.stdout.flush()


def main() -> int:
    """Take the run if nobody else has it, and keep it alive."""
    options = read(sys.argv[1:])
    folder = Folder(options.run)
    if folder.has("ended.json") or folder.has("finished.json"):
        sys.stdout.write("the run is over already; nothing to do\n")
        return 0
    supervisor = Supervisor(
        options, folder, room.Local(options, folder) if options.local else room.Slurm(options, folder)
    )
    for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: supervisor.on_signal(received))
    return supervisor.run()


def _listen(options: Options, seed: int) -> socket.socket:
    found: Optional[Tuple[str, str]] = network.inside(options.management, network.interfaces())
    if found is None:
        raise OSError(f"no address inside the management network {options.management}")
    port = network.bindable_port(found[1], seed)
    return socket.create_server((found[1], port), backlog=1024)


if __name__ == "__main__":
    sys.exit(main())
