"""Supervisor of one training on the hosts of one job: `python -m clusterwright.onhost.supervisor.supervisor RUN`.

It runs as the batch step; every host of the job runs an agent (node.py). decide.py chooses each action.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any, Dict, List, Optional

from clusterwright.onhost.adapters import registry
from clusterwright.onhost.supervisor import (
    console,
    ending,
    meeting,
    network,
    schedulers,
    ssh_hosts,
    terms,
    wire,
)
from clusterwright.onhost.supervisor import decide as d
from clusterwright.onhost.supervisor.folder import Events, Folder, open_run
from clusterwright.onhost.supervisor.goodput import closing
from clusterwright.onhost.supervisor.hang import hangs
from clusterwright.onhost.supervisor.heartbeat_thread import SupervisorHeartbeat
from clusterwright.onhost.supervisor.job import JobRecord
from clusterwright.onhost.supervisor.peers import DISCONNECTED, JOINED, MESSAGE, Peer, PeerEvent, Peers
from clusterwright.onhost.supervisor.quorum import Predecessor, Quorum
from clusterwright.onhost.supervisor.replicas import recall
from clusterwright.onhost.supervisor.root_cause import first_failure, host_fault
from clusterwright.onhost.supervisor.stop_requests import StopRequests
from clusterwright.onhost.supervisor.tracker_processes import trackers
from clusterwright.onhost.supervisor.upload_processes import is_ready, uploads


class Supervisor:
    """Event loop of one job of the run; with a `predecessor`, it takes over that supervisor's job."""

    def __init__(
        self, record: JobRecord, folder: Folder, scheduler: ssh_hosts.Scheduler,
        predecessor: Optional[Predecessor] = None,
    ) -> None:  # fmt: skip
        self.record, self.folder, self.scheduler, self.predecessor = record, folder, scheduler, predecessor
        recovery = record.job.recovery
        self.started, self.began = time.time(), time.monotonic()
        self.code: Optional[int] = None
        self.number = predecessor.number if predecessor else folder.join_chain(scheduler.job_id)
        earlier_jobs = 0 if predecessor else folder.jobs_to(self.number) - 1
        self.remaining_successors = recovery.successors - earlier_jobs
        self.hosts = scheduler.hosts()
        self.host = schedulers.host_name()
        end = float(os.environ.get("SLURM_JOB_END_TIME") or self.started + record.job.time)
        self.end_time = predecessor.end_time if predecessor else end
        by_clock = bool(record.job.time) and (predecessor or not record.in_slurm)  # else Slurm signals
        ends = self.began + self.end_time - self.started if by_clock else float("inf")
        self.stop_requests = StopRequests(folder, scheduler, ends - record.launch.grace_s)
        self.events = Events(folder, f"supervisor-{self.number}", self.host)
        self.policy = terms.policy(record, self.hosts, self.remaining_successors, inside=bool(predecessor))
        lost_hosts = (predecessor.host,) if predecessor and predecessor.host != self.host else ()
        last = folder.last_generation()
        trained = folder.trained_hosts(last, self.hosts, lost_hosts) if predecessor else ()
        self.state = d.State(phase_start=self.began, generation=last, lost_hosts=lost_hosts, members=trained)
        self.beat_s = min(terms.LONGEST_BEAT_S, recovery.heartbeat_timeout / terms.BEATS_PER_TIMEOUT)
        self.listener = network.listen_inside(record.launch.management)
        self.quorum = Quorum(folder, scheduler.job_id, self.number, self.host, self.listener)
        self.peers = Peers(self.listener, folder.token(), self.hosts, recovery.heartbeat_timeout, self.orders)
        self.hangs = hangs.Hangs(self.peers.send)
        self.meeting = meeting.Meeting(self.peers)
        self.ending = ending.Ending(folder, scheduler, self.events, self.log, in_slurm=record.in_slurm)
        self.rejoin = terms.rejoin_times(record, lost_hosts, self.began)
        self.waiting: Optional[d.Start] = None
        self.faults: List[Dict[str, Any]] = []  # of this generation, for first_failure.py
        if not folder.has("cancelled"):
            folder.remove("stop")  # left by an earlier job that Slurm killed before it removed the file
        self.beaten, self.polled_at = 0.0, 0.0
        self.heartbeat = SupervisorHeartbeat(self.peers, self.quorum, self.beat_s)

    def run(self) -> int:
        """Supervise this job until the run ends or another job continues it; return the job's exit code."""
        self.log(f"job {self.scheduler.job_id}, number {self.number} of the run, on {','.join(self.hosts)}")
        self.heartbeat.start()
        self.follow(self.predecessor) if self.predecessor else self.begin()
        while self.code is None:
            self.turn()
        self.stop_requests.over = True
        self.heartbeat.stop_writing(over=not self.quorum.followed_by)
        self.farewell()
        self.heartbeat.stop()
        requests = self.stop_requests
        while self.quorum.followed_inside and not (self.predecessor or requests.termination_requested):
            time.sleep(terms.TICK_S)  # another supervisor still uses this job, which ends with its batch step
        if self.state.phase == d.ENDED:
            closing.close(self.folder, self.log)
        return self.code

    def begin(self) -> None:
        """Start the agents on all hosts of a new job, and submit the standby job if the run may continue."""
        ranks = self.record.job.gpus_per_node
        self.write("job_start", job_id=self.scheduler.job_id, hosts=list(self.hosts), ranks=ranks)
        self.scheduler.start_agents(self.hosts, *self.listener.getsockname())
        needs_standby = self.remaining_successors > 0 and self.record.job.recovery.on_host_loss != "fail"
        refused = self.scheduler.submit_standby() if needs_standby else ""
        if refused:
            self.log(f"no standby job: {refused}")

    def follow(self, predecessor: Predecessor) -> None:
        """Take over a job after the loss of its supervisor and end its generation; agents connect by themselves."""
        reason = f"no heartbeat from {predecessor.host} and its supervisor"
        self.log(f"{reason}: failover to {self.host} inside the job")
        host_loss = {"lost_host": predecessor.host, "heartbeat_age_s": predecessor.heartbeat_age_s}
        self.write("failover", job_id=self.scheduler.job_id, number=self.number, lost_host=predecessor.host)
        self.write("host_lost", reason="no heartbeat from the supervisor's host", **host_loss)
        self.record_fault("host_lost", **host_loss)
        self.end_generation(d.Kill(self.state.generation, (), d.HOST_LOST))

    def turn(self) -> None:
        """Run one iteration of the event loop: handle messages from agents, then timers."""
        self.heartbeat.turn()
        events = list(self.peers.turn(min(terms.TICK_S, self.beat_s / 2)))
        now = time.monotonic()  # what follows may wait for the folder, and heartbeats of agents with it
        for event in events:
            if self.code is None:
                self.peers.deliver(event, self.handle_event, self.log)
        if now - self.beaten >= self.beat_s or self.quorum.asking:
            self.beat(now)
        if now - self.polled_at >= terms.LONGEST_BEAT_S or self.stop_requests.news:
            self.poll(now)
        if not self.quorum.is_isolated:
            self.feed("tick")

    def handle_event(self, event: PeerEvent) -> None:
        """Handle the event of an agent that joined, disconnected or sent a message; log others."""
        if event.kind == JOINED:
            for loss in self.quorum.resolve(event.peer.host):
                self.handle_host_loss(loss.peer, loss.reason)
            self.rejoin.pop(event.peer.host, None)
            self.log(f"{event.peer.host} is ready at {event.peer.address}")
            self.write("host_ready", ready=event.peer.host)
            self.understand(event.peer, {"store": event.message.get("store", 0)})
            self.feed("joined", host=event.peer.host)
        elif event.kind == DISCONNECTED:
            self.quorum.defer(event)
            self.beat(time.monotonic())
        elif event.kind == MESSAGE:
            self.understand(event.peer, event.message)
        else:
            self.log(event.reason)

    def handle_host_loss(self, peer: Peer, reason: str) -> None:
        """Log and record that a host is lost, schedule the restart of its agent, and decide."""
        unresponsive_s = round(time.monotonic() - peer.last_message_at, 2)
        self.log(f"lost {peer.host} ({reason}); last message {unresponsive_s} s ago")
        self.write("host_lost", lost_host=peer.host, heartbeat_age_s=unresponsive_s, reason=reason)
        if peer.host in self.state.members:
            self.record_fault("host_lost", lost_host=peer.host, heartbeat_age_s=unresponsive_s)
        self.rejoin[peer.host] = time.monotonic() + terms.LONGEST_BEAT_S
        self.feed("lost", host=peer.host)

    def understand(self, peer: Peer, message: wire.Message) -> None:
        """Handle each part of one message from an agent: store, exit, standstill, note and others."""
        standby = message.get("standby", {})
        peer.facts.update({name: message[name] for name in ("copies", "memory") if name in message})
        if "store" in message or "store_error" in message:
            peer.store, peer.store_error = message.get("store", 0), message.get("store_error", "")
            self.start_ranks()
        if "leaving" in message:
            self.stop_requests.leaving()
        if "exited" in message:
            self.feed_exit(peer.host, message)
        elif "stalled" in message or "examined" in message:
            self.handle_standstill(peer.host, message)
        elif "met" in message:
            self.handle_isolation(peer.host, message)
        elif "note" in message:
            self.log(f"{peer.host}: {message['note']}")
        elif standby.get("reason") or standby.get("problems"):
            self.log(f"{peer.host}: {standby.get('reason') or standby['problems']}")
        for kind in ("done", "idle", "deaf"):
            if kind in message:
                self.feed(kind, host=peer.host, generation=message[kind])

    def feed_exit(self, host: str, message: wire.Message) -> None:
        """Handle the failed exit of a rank; the first one of a generation counts as the root cause."""
        fault = {"on": host, **{name: value for name, value in message.items() if name != "exited"}}
        if message["exited"] == self.state.generation:
            if self.state.phase == d.RUNNING:
                self.log(first_failure.describe(fault))
            self.record_fault("rank_exit", **fault)
        kind, rank_exit = host_fault.classify_exit(message)
        self.feed(kind, host=host, generation=message["exited"], exit=rank_exit)

    def handle_standstill(self, host: str, message: wire.Message) -> None:
        """Handle an agent's report about stalled ranks; ranks found hung end the generation."""
        for fault in self.hangs.receive(host, message, time.monotonic()):
            self.write("rank_hung", **fault)
            self.record_fault("rank_hung", **fault)
            self.log(first_failure.describe(self.faults[-1]))
            self.feed("hung", host=self.hangs.guilty, generation=self.state.generation)

    def handle_isolation(self, host: str, message: wire.Message) -> None:
        """Handle an agent's connection test; a host isolated on the ranks' network is barred from training."""
        for guilty, reason in self.meeting.receive(host, message):
            self.log(f"{guilty}: {reason}")
            self.write("host_lost", lost_host=guilty, reason=reason)
            if guilty in self.state.members:
                self.record_fault("host_lost", lost_host=guilty, reason=reason)
            self.feed("apart", host=guilty)

    def write(self, event: str, **about: Any) -> None:
        """Append an event of the current generation to the run's event file."""
        self.events.write(event, self.state.generation, **about)

    def record_fault(self, event: str, **fault: Any) -> None:
        """Store a fault of the current generation, from which the root cause is found."""
        self.faults.append({"event": event, "time": time.time(), **fault})

    def beat(self, now: float) -> None:
        """Drop agents without a heartbeat; a supervisor that may be isolated drops none, and defers losses."""
        self.beaten, doubted = now, self.quorum.is_isolated
        if not self.quorum.in_touch(self.peers.by_host, now, self.peers.timeout_s, self.scheduler.in_reach):
            if not doubted:
                self.log("isolated: no other host and no Slurm controller responds; failover may start")
            self.resign_if_replaced()
            return
        if not self.quorum.in_doubt(self.peers.by_host, now, self.peers.timeout_s):
            self.peers.drop_unresponsive(now)
            for loss in self.quorum.resolve():
                self.handle_host_loss(loss.peer, loss.reason)

    def resign_if_replaced(self) -> bool:
        """If another supervisor of this run has started, stop deciding and return True."""
        job_id = self.quorum.followed_by
        if job_id and self.code is None:
            self.log(f"another supervisor of this run has started, in job {job_id}; this one stops")
            if not self.quorum.followed_inside:
                self.scheduler.cancel_standby()
            self.code = 0
        return bool(job_id)

    def poll(self, now: float) -> None:
        """Handle stop requests, newer supervisors, and lost hosts whose agents are to be started again."""
        self.polled_at = now
        self.scheduler.reap()
        if self.resign_if_replaced() or self.quorum.is_isolated:
            return
        if self.state.phase == d.RUNNING:
            self.meeting.reprobe(now)
        reason = self.stop_requests.reason(now, self.state.stop_reason)
        if reason:
            self.feed("asked", reason=reason)
        for host, due in self.rejoin.items():
            if now >= due:
                self.rejoin[host] = now + terms.REJOIN_S
                self.scheduler.start_agents([host], *self.listener.getsockname())

    def feed(self, kind: str, **about: Any) -> None:
        """Pass an event to decide.decide and execute the actions that it returns."""
        if kind == "done":  # ranks may have seen the file of a stop request earlier
            self.poll(time.monotonic())
        # while ranks run, ticks need no read of the storage five times a second
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
        """Return the newest step to resume from, on storage or, only if `last`, in memory."""
        on_disk = self.folder.newest_step(self.record.launch.checkpoints)
        choice = recall.chosen(self.meeting.joined, on_disk) if last else None
        return choice.step if choice else on_disk

    def do(self, action: d.Action) -> None:
        """Execute one action of decide; a replaced supervisor executes no Start, Handoff or End."""
        if isinstance(action, (d.Start, d.Handoff, d.End)) and self.resign_if_replaced():
            return
        if isinstance(action, d.Start):
            self.waiting = action
            self.start_ranks()
        elif isinstance(action, d.RequestStop):
            self.request_stop(action.reason)
        elif isinstance(action, d.Kill):
            self.end_generation(action)
            self.waiting = None
            self.hangs.end()
            for host in action.hosts:
                self.peers.send(host, {"kill": action.generation, "stacks": action.reason == d.HUNG})
        elif isinstance(action, d.Drop):
            self.peers.drop(action.host, "does not end its ranks")
        elif isinstance(action, d.Handoff):
            self.code = self.ending.end_with_handoff(action, self.state.generation, self.began_with(d.FAILED))
        else:
            began = self.began_with(action.outcome)
            self.code = self.ending.end(action.outcome, action.reason, self.state.generation, began)

    def request_stop(self, reason: str) -> None:
        """Request that the ranks save and leave, through the run's `stop` file or, without one, through the agents."""
        if self.waiting and reason != d.GROWN:  # there are no ranks
            self.feed("failed", generation=self.state.generation)
            return
        self.log(f"requesting the ranks to save and leave: {reason}")
        if reason != d.GROWN:
            self.folder.write("stop", {"reason": reason})
        order = {d.GROWN: "regroup", d.CANCELED: "leave"}.get(reason, "")
        for host in self.state.members if order else ():
            self.peers.send(host, {order: self.state.generation})

    def end_generation(self, action: d.Kill) -> None:
        """Log and record why a generation ends and its first failure; it does not end the ranks."""
        self.log(f"ending generation {action.generation}: {action.reason}")
        began = self.began_with(action.reason)
        if began:
            self.log(f"first failure: {began}")
        self.events.write("generation_end", action.generation, reason=action.reason, first_failure=began)

    def began_with(self, reason: str) -> str:
        """Return the first failure of this generation as text, if the end's `reason` is a failure; else ""."""
        failed = reason not in (d.FINISHED, d.CANCELED, *d.REQUESTED_STOPS)
        return first_failure.line(self.faults, self.record.job.gpus_per_node) if failed else ""

    def start_ranks(self) -> None:
        """Send the start of the waiting generation to every member once the first host's store listens."""
        hosts = self.waiting.hosts if self.waiting else ()
        store_peer = self.peers.by_host.get(hosts[0]) if hosts else None
        if self.waiting and store_peer and store_peer.store_error:
            reason = f"{store_peer.host}: the rendezvous store cannot start: {store_peer.store_error}"
            self.feed("failed", generation=self.state.generation, exit=d.RankExit(reason, retryable=False))
            return
        if self.waiting is None or store_peer is None or not store_peer.store:
            return
        number, port, self.waiting, self.faults = self.waiting.generation, store_peer.store, None, []
        self.folder.remove("stop")
        os.makedirs(self.folder.path_to("logs", str(number)), exist_ok=True)
        choice = recall.chosen(self.meeting.joined, self.folder.newest_step(self.record.launch.checkpoints))
        begins: Dict[str, Any] = {"step": choice.step, "source": "memory"} if choice else {}
        source_text = f", from step {choice.step} in memory" if choice else ""
        store = {"hosts": list(hosts), "address": store_peer.address, "port": port}
        address = f"{store_peer.address}:{port}"
        self.log(f"generation {number} on {','.join(hosts)}, store at {address}{source_text}")
        self.events.write("generation_start", number, **store, **begins)
        self.hangs.begin(number, hosts, self.folder.path_to("logs", str(number)))
        message = {
            "start": number, **store,
            "environment": terms.environment(self.record, self.end_time), "patience": self.hangs.timeout_factor,
            **recall.memory_message(self.meeting.joined, hosts, choice),
        }  # fmt: skip
        for host in hosts:
            if host in self.peers.by_host:
                self.peers.by_host[host].store = 0  # each opens a new one: generations must not share a store
            self.peers.send(host, message)
        launcher = registry.launcher(self.record.launch.launcher)
        if launcher.is_agent:  # another launcher's store does not listen yet
            self.meeting.probe_all(number, store_peer, port, time.monotonic())

    def farewell(self) -> None:
        """End the agents with the job, or disconnect them for a supervisor that follows in this job."""
        if self.quorum.followed_inside:
            self.peers.disconnect_all()
            return
        self.peers.farewell()
        self.scheduler.end()

    def orders(self) -> wire.Message:
        """Return what an agent needs besides the run's record, also to start a failover supervisor."""
        return {
            "supervisor": self.host, "beat": self.beat_s, "number": self.number,
            "hosts": list(self.hosts), "end_time": self.end_time,
        }  # fmt: skip

    def log(self, text: str) -> None:
        """Write one line of text with the time to the job's output."""
        console.out(f"{time.strftime('%H:%M:%S')} {text}")


def main() -> int:
    """Supervise the run in the folder of the first argument, unless it has ended; return the exit code."""
    folder, record = open_run(sys.argv[1])
    if folder.has("ended.json") or folder.has("finished.json"):
        sys.stdout.write("the run is over already; nothing to do\n")
        return 0
    if not is_ready(record, folder):
        return 1
    supervisor = Supervisor(record, folder, ssh_hosts.scheduler_of(record, folder))
    for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: supervisor.stop_requests.on_signal(received))
    with trackers(record.job.trackers, folder), uploads(record, folder):
        code = supervisor.run()
    return supervisor.scheduler.cancel_if_canceled(code)


if __name__ == "__main__":
    sys.exit(main())
