"""Keeps one training alive on the hosts of one job: `python -m ...agent.supervisor RUN`.

It is the batch step. Every host of the job has an agent (node.py); what to do next is decided in decide.py; here are
the signals, the clock and the run's folder.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from typing import Any, Dict, List, Optional, Set, Union

from clusterwright.onhost.adapters import registry
from clusterwright.onhost.supervisor import beside, ending, meeting, network, room, say, terms, wire
from clusterwright.onhost.supervisor import decide as d
from clusterwright.onhost.supervisor.blame import first, host_fault, words
from clusterwright.onhost.supervisor.copies import recall
from clusterwright.onhost.supervisor.folder import Events, Folder, open_run
from clusterwright.onhost.supervisor.hang import hangs
from clusterwright.onhost.supervisor.job import Record
from clusterwright.onhost.supervisor.ledger import closing
from clusterwright.onhost.supervisor.peers import JOINED, LOST, SAID, Heard, Peer, Peers
from clusterwright.onhost.supervisor.standing import Before, Standing
from clusterwright.onhost.supervisor.wishes import Wishes

TICK_S = 0.2
BEATS_OF_SILENCE = 6  # a busy host may miss five
LONGEST_BEAT_S = 1.0
# How often an agent is started anew on a lost host: a reboot takes a lab host 2 s and a server minutes.
REJOIN_S = 15.0


class Supervisor:
    """One job of the run's chain, or what is left of it."""

    def __init__(
        self, record: Record, folder: Folder, place: Union[room.Slurm, room.Local],
        before: Optional[Before] = None,
    ) -> None:  # fmt: skip
        self.record, self.folder, self.room = record, folder, place
        recovery = record.job.recovery
        self.started, self.began = time.time(), time.monotonic()
        self.code: Optional[int] = None
        self.before = before
        self.number = before.number if before else folder.join_chain(place.job_id)
        self.left = recovery.successors - (0 if before else folder.jobs_to(self.number) - 1)
        self.hosts = place.hosts()
        self.host = os.environ.get("SLURMD_NODENAME", socket.gethostname())
        end = float(os.environ.get("SLURM_JOB_END_TIME") or self.started + record.job.time)
        self.end_time = before.end_time if before else end
        by_clock = bool(record.job.time) and (record.local or before)  # Slurm tells the batch step alone
        ends = self.began + self.end_time - self.started if by_clock else float("inf")
        self.wishes = Wishes(folder, place, ends - record.launch.grace_s)
        self.events = Events(folder, f"supervisor-{self.number}", self.host)
        self.policy = terms.policy(record, self.hosts, self.left, inside=before is not None)
        lost = tuple(host for host in (before.host,) if host != self.host) if before else ()
        last = folder.last_generation()
        trained = folder.who_trained(last, self.hosts, lost) if before else ()
        self.state = d.State(since=self.began, generation=last, lost=lost, members=trained)
        self.beat_s = min(LONGEST_BEAT_S, recovery.host_silence / BEATS_OF_SILENCE)
        self.listener = network.listen_inside(record.launch.management, int(place.job_id))
        self.standing = Standing(folder, place.job_id, self.number, self.host, self.listener)
        self.peers = Peers(self.listener, folder.token(), self.hosts, recovery.host_silence, self.orders)
        self.hangs = hangs.Hangs(self.peers.tell)
        self.meeting = meeting.Meeting(self.peers)
        self.ending = ending.Ending(folder, place, self.events, self.say, local=record.local)
        self.rejoin: Dict[str, float] = dict.fromkeys(lost, self.began + LONGEST_BEAT_S)
        self.waiting: Optional[d.Start] = None
        self.faults: List[Dict[str, Any]] = []  # of this generation, as first.py reads them
        if not folder.has("cancelled"):
            folder.remove("stop")  # of a job before this one, which Slurm killed before it could take it back
        self.beaten, self.beats, self.looked = 0.0, 0, 0.0
        self.unheard: Set[str] = set()  # lost while we were cut off

    def run(self) -> int:
        """Until the run is over, or another job has it; the exit code."""
        self.say(f"job {self.room.job_id}, number {self.number} of the run, on {','.join(self.hosts)}")
        self.beat(time.monotonic())
        self.follow(self.before) if self.before else self.begin()
        while self.code is None:
            self.turn()
        self.wishes.over = True
        if not self.standing.followed_by:
            self.standing.show(self.beats, over=True)
        self.farewell()
        while self.standing.followed_inside and not self.before and not self.wishes.told_to_go:
            time.sleep(TICK_S)  # a job ends with its batch step, and this one is not over
        if self.state.phase == d.ENDED:
            closing.close(self.folder, self.say)
        return self.code

    def begin(self) -> None:
        """A job begins: agents on all its hosts, and a job that stands by."""
        self.events.write(
            "job_start", self.state.generation, job_id=self.room.job_id, hosts=list(self.hosts),
            ranks=self.record.job.gpus_per_node,
        )  # fmt: skip
        self.room.start_agents(self.hosts, *self.listener.getsockname())
        if self.left > 0 and self.record.job.recovery.on_host_loss != "fail":
            refused = self.room.submit_standby()
            if refused:
                self.say(f"no successor stands by: {refused}")

    def follow(self, before: Before) -> None:
        """A job goes on without its supervisor: its agents are there, and come by themselves."""
        self.say(f"{before.host} and its supervisor are silent: going on inside the job, from {self.host}")
        generation, lost = self.state.generation, {"lost": before.host, "silence_s": before.silence_s}
        self.events.write(
            "takeover", generation, job_id=self.room.job_id, number=self.number, lost=before.host
        )
        self.events.write("host_lost", generation, why="the supervisor's host is silent", **lost)
        self.blame("host_lost", **lost)
        self.end_generation(d.Kill(generation, (), d.HOST_LOST))

    def turn(self) -> None:
        """One round: what arrived, then what time brings."""
        for heard in self.peers.turn(min(TICK_S, self.beat_s / 2)):
            if self.code is None:
                self.hear(heard)
        now = time.monotonic()
        if now - self.beaten >= self.beat_s:
            self.beat(now)
        if now - self.looked >= LONGEST_BEAT_S or self.wishes.news:
            self.look_around(now)
        if not self.standing.cut_off:
            self.feed("tick")

    # What arrives

    def hear(self, heard: Heard) -> None:
        """What happened on one connection."""
        if heard.kind == JOINED:
            self.rejoin.pop(heard.peer.host, None)
            self.say(f"{heard.peer.host} is ready at {heard.peer.address}")
            self.events.write("host_ready", self.state.generation, ready=heard.peer.host)
            self.understand(heard.peer, {"store": heard.message.get("store", 0)})
            self.feed("joined", host=heard.peer.host)
        elif heard.kind == LOST and self.standing.cut_off:
            self.unheard.add(heard.peer.host)
        elif heard.kind == LOST:
            self.lost(heard.peer, heard.why)
        elif heard.kind == SAID:
            self.understand(heard.peer, heard.message)
        else:
            self.say(heard.why)

    def lost(self, peer: Peer, why: str) -> None:
        """A host is gone until it joins again."""
        silence = round(time.monotonic() - peer.heard, 2)
        self.say(f"lost {peer.host} ({why}); last heard {silence} s ago")
        self.events.write("host_lost", self.state.generation, lost=peer.host, silence_s=silence, why=why)
        if peer.host in self.state.members:
            self.blame("host_lost", lost=peer.host, silence_s=silence)
        self.rejoin[peer.host] = time.monotonic() + LONGEST_BEAT_S
        self.feed("lost", host=peer.host)

    def understand(self, peer: Peer, message: wire.Message) -> None:
        """What an agent reports."""
        peer.facts.update({name: message[name] for name in ("copies", "memory") if name in message})
        if "store" in message:
            peer.store = message["store"]
            self.start_ranks()
        if "leaving" in message:
            self.wishes.leaving()
        if "exited" in message:
            self.feed_exit(peer.host, message)
        elif "stalled" in message or "examined" in message:
            self.hear_of_standstill(peer.host, message)
        elif "met" in message:
            self.hear_who_is_apart(peer.host, message)
        elif "note" in message:
            self.say(f"{peer.host}: {message['note']}")
        elif "standby" in message and (message["standby"].get("why") or message["standby"].get("problems")):
            self.say(f"{peer.host}: {message['standby'].get('why') or message['standby']['problems']}")
        for kind in ("done", "idle", "deaf"):
            if kind in message:
                self.feed(kind, host=peer.host, generation=message[kind])

    def feed_exit(self, host: str, message: wire.Message) -> None:
        """A rank ended badly; only the first of a generation is the cause."""
        fault = {"on": host, **{name: value for name, value in message.items() if name != "exited"}}
        if message["exited"] == self.state.generation:
            if self.state.phase == d.RUNNING:
                self.say(f"{first.who(fault)} {first.what(fault)}")
            self.blame("rank_exit", **fault)
        code, said, cause = message["code"], str(message["words"]), message.get("cause", "")
        kind = "broken" if host_fault.is_host_fault(said, -code, cause) else "failed"
        from_outside = code < 0 or words.is_consequence(said)
        signature = "" if from_outside else f"{message['local_rank']} {said}"
        how = d.RankExit(said, signature, retryable=cause not in d.NOT_RETRYABLE)
        self.feed(kind, host=host, generation=message["exited"], exit=how)

    def hear_of_standstill(self, host: str, message: wire.Message) -> None:
        """Ranks that are found hung end the generation."""
        for fault in self.hangs.heard(host, message, time.monotonic()):
            self.events.write("rank_hung", self.state.generation, **fault)
            self.blame("rank_hung", **fault)
            self.say(f"{first.who(fault)} {first.what(self.faults[-1])}")
            self.feed("hung", host=self.hangs.guilty, generation=self.state.generation)

    def hear_who_is_apart(self, host: str, message: wire.Message) -> None:
        """A host that its ranks' network does not join to the others trains no more."""
        for guilty, why in self.meeting.heard(host, message):
            self.say(f"{guilty}: {why}")
            self.events.write("host_lost", self.state.generation, lost=guilty, why=why)
            if guilty in self.state.members:
                self.blame("host_lost", lost=guilty, why=why)
            self.feed("apart", host=guilty)

    def blame(self, event: str, **fault: Any) -> None:
        """Remember what went wrong in this generation."""
        self.faults.append({"event": event, "time": time.time(), **fault})

    # What time brings

    def beat(self, now: float) -> None:
        """A sign of life on both ways: to every agent, and in the run's folder; none by who is cut off."""
        self.beaten, doubted = now, self.standing.cut_off
        if not self.standing.in_touch(
            self.peers.here, now, self.record.job.recovery.host_silence, self.room.in_reach
        ):
            if not doubted:
                self.say("neither another host nor Slurm is heard: cut off; whoever is not may take over")
            self.let_go_if_followed()
            return
        self.beats += 1
        self.standing.show(self.beats)
        self.peers.tell_all({"beat": self.beats})
        if not self.standing.asking:
            self.peers.drop_silent(now)
        while self.unheard:
            self.feed("lost", host=self.unheard.pop())

    def let_go_if_followed(self) -> bool:
        """Another supervisor has begun: this one decides nothing more."""
        job_id = self.standing.followed_by
        if job_id and self.code is None:
            self.say(f"another supervisor of this run has begun, in job {job_id}: letting go")
            if not self.standing.followed_inside:
                self.room.cancel_standby()
            self.code = 0
        return bool(job_id)

    def look_around(self, now: float) -> None:
        """Signals, wishes, newer jobs, hosts that may be back."""
        self.looked = now
        self.room.reap()
        if self.let_go_if_followed() or self.standing.cut_off:
            return
        if self.state.phase == d.RUNNING:
            self.meeting.ask_again(now)
        why = self.wishes.why(now, self.state.asked)
        if why:
            self.feed("asked", why=why)
        for host, due in self.rejoin.items():
            if now >= due:
                self.rejoin[host] = now + REJOIN_S
                self.room.start_agents([host], *self.listener.getsockname())

    # What is decided, and done

    def feed(self, kind: str, **about: Any) -> None:
        """Let decide.py see the event, and do what it says."""
        # no reason to ask the storage five times a second
        idly = kind == "tick" and self.state.phase == d.RUNNING
        event = d.Event(
            kind, time.monotonic(), **about,
            step=0 if idly else self.newest_step(last=kind != "idle" or len(self.state.busy) <= 1),
            finished=not idly and self.folder.has("finished.json"),
        )  # fmt: skip
        self.state, actions = d.decide(self.policy, self.state, event)
        for action in actions:
            self.do(action)

    def newest_step(self, *, last: bool) -> int:
        """The newest step that a generation could begin with; what is in memory only counts with the `last` report."""
        on_disk = self.folder.newest_step(self.record.launch.checkpoints)
        found = recall.chosen(self.meeting.joined, on_disk) if last else None
        return found.step if found else on_disk

    def do(self, action: d.Action) -> None:
        """One action; nothing that others would see before a look at whether we are followed."""
        if isinstance(action, (d.Start, d.HandOver, d.End)) and self.let_go_if_followed():
            return
        if isinstance(action, d.Start):
            self.waiting = action
            self.start_ranks()
        elif isinstance(action, d.Ask):
            self.ask(action.why)
        elif isinstance(action, d.Kill):
            self.end_generation(action)
            self.waiting = None
            self.hangs.end()
            for host in action.hosts:
                self.peers.tell(host, {"kill": action.generation, "stacks": action.why == d.HUNG})
        elif isinstance(action, d.Drop):
            self.peers.drop(action.host, "does not end its ranks")
        elif isinstance(action, d.HandOver):
            self.code = self.ending.hand_over(action, self.state.generation, self.began_with(d.FAILED))
        else:
            began = self.began_with(action.outcome)
            self.code = self.ending.end(action.outcome, action.why, self.state.generation, began)

    def ask(self, why: str) -> None:
        """The ranks are to leave: those who read no file hear of a person's wish too."""
        self.say(f"asking the ranks to save and leave: {why}")
        if why != d.GROWN:
            self.folder.write("stop", {"why": why})
        order = {d.GROWN: "regroup", d.CANCELLED: "leave"}.get(why, "")
        for host in self.state.members if order else ():
            self.peers.tell(host, {order: self.state.generation})

    def end_generation(self, action: d.Kill) -> None:
        """Say why, and what began it."""
        self.say(f"ending generation {action.generation}: {action.why}")
        began = self.began_with(action.why)
        if began:
            self.say(f"first: {began}")
        self.events.write("generation_end", action.generation, why=action.why, first=began)

    def began_with(self, why: str) -> str:
        """What went wrong first in this generation; nothing where that is not why it ends."""
        well = why in (d.FINISHED, d.CANCELLED, *d.BY_WISH)
        return "" if well else first.line(self.faults, self.record.job.gpus_per_node)

    def start_ranks(self) -> None:
        """Every member is told the same, once the first one's store listens."""
        hosts = self.waiting.hosts if self.waiting else ()
        first = self.peers.here.get(hosts[0]) if hosts else None
        if self.waiting is None or first is None or not first.store:
            return
        number, port, self.waiting = self.waiting.generation, first.store, None
        self.folder.remove("stop")
        self.faults = []
        os.makedirs(self.folder.at("logs", str(number)), exist_ok=True)
        found = recall.chosen(self.meeting.joined, self.folder.newest_step(self.record.launch.checkpoints))
        begins: Dict[str, Any] = {"step": found.step, "source": "memory"} if found else {}
        words = f", from step {found.step} in memory" if found else ""
        self.say(f"generation {number} on {','.join(hosts)}, store at {first.address}:{port}{words}")
        self.events.write(
            "generation_start", number, hosts=list(hosts), address=first.address, port=port, **begins
        )
        self.hangs.begin(number, hosts, self.folder.at("logs", str(number)))
        message = {
            "start": number, "hosts": list(hosts), "address": first.address, "port": port,
            "environment": terms.environment(self.record, self.end_time), "patience": self.hangs.patience,
            **recall.told(self.meeting.joined, hosts, found),
        }  # fmt: skip
        for host in hosts:
            if host in self.peers.here:
                self.peers.here[host].store = 0  # each makes a new one, lest two generations meet
            self.peers.tell(host, message)
        if registry.launcher(
            self.record.launch.launcher
        ).is_agent:  # the store of another does not listen yet
            self.meeting.ask(number, first, port, time.monotonic())

    def farewell(self) -> None:
        """Agents end their ranks and leave with the job, or keep what they hold for whoever follows us inside it."""
        if self.standing.followed_inside:
            self.peers.let_go()
            return
        self.peers.farewell()
        self.room.end()

    def orders(self) -> wire.Message:
        """What an agent needs beside the run's record, also to start the next supervisor when we are gone."""
        return {
            "supervisor": self.host, "beat": self.beat_s, "number": self.number,
            "hosts": list(self.hosts), "end_time": self.end_time,
        }  # fmt: skip

    def say(self, text: str) -> None:
        """One line for people, into the job's own output."""
        say.out(f"{time.strftime('%H:%M:%S')} {text}")


def main() -> int:
    """Take the run if nobody else has it, and keep it alive."""
    folder, record = open_run(sys.argv[1])
    if folder.has("ended.json") or folder.has("finished.json"):
        sys.stdout.write("the run is over already; nothing to do\n")
        return 0
    supervisor = Supervisor(record, folder, (room.Local if record.local else room.Slurm)(record, folder))
    for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: supervisor.wishes.on_signal(received))
    with beside.trackers(record.job.trackers, folder):
        return supervisor.run()


if __name__ == "__main__":
    sys.exit(main())
