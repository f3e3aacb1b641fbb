"""What a supervisor does next: `decide(policy, state, event) -> (state, actions)`, with no clock, file or process.

One generation trains at a time. Before the next one begins, every member of the last one has said that its ranks are
gone, or has been silent for `silence_s`, after which its own agent has ended them (see node.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Tuple, Union

GATHERING, RUNNING, STOPPING, ENDED = "gathering", "running", "stopping", "ended"
HOST_LOST, RANKS_FAILED, STOPPED = "host-lost", "ranks-failed", "stopped"
FINISHED, FAILED, NO_PROGRESS, CANCELLED = "finished", "failed", "no-progress", "cancelled"

LINGER_S = 2  # with enough hosts there, the others are waited for this long: srun starts all within a second
CLEAR_S = 10  # a host that cannot kill its ranks in this time has a hung kernel, and counts as lost
PROOF_OF_LIFE_S = 1.0  # one beat: a message received this long after a failure was sent after it


@dataclass(frozen=True)
class Policy:
    """What the job file says, as far as it matters here."""

    hosts: Tuple[str, ...]
    nodes: int
    min_nodes: int
    on_host_loss: str = "successor"
    restarts: int = 3
    successors: int = 5
    join_s: float = 60
    grace_s: float = 30


@dataclass(frozen=True)
class State:
    """Where the job stands."""

    phase: str = GATHERING
    since: float = 0
    generation: int = 0
    ready: Tuple[str, ...] = ()
    lost: Tuple[str, ...] = ()
    members: Tuple[str, ...] = ()
    done: Tuple[str, ...] = ()
    busy: Tuple[str, ...] = ()
    why: str = ""
    failed_at: float = 0
    alive: Tuple[str, ...] = ()
    asked: str = ""
    asked_at: float = 0
    step: int = 0


@dataclass(frozen=True)
class Event:
    """Something happened: joined, beat, lost, idle, exited (of a host), asked (to stop), tick."""

    kind: str
    now: float
    host: str = ""
    generation: int = 0
    code: int = 0
    why: str = ""
    step: int = 0
    finished: bool = False


@dataclass(frozen=True)
class Start:
    """Begin a generation on these hosts, the first of them serving the rendezvous."""

    generation: int
    hosts: Tuple[str, ...]


@dataclass(frozen=True)
class Ask:
    """Ask the ranks to save and leave."""

    why: str


@dataclass(frozen=True)
class Kill:
    """End the ranks of the generation at once, on these hosts."""

    generation: int
    hosts: Tuple[str, ...]
    why: str


@dataclass(frozen=True)
class Drop:
    """Hear no more from a host that does not do what it is told."""

    host: str


@dataclass(frozen=True)
class HandOver:
    """Let a successor job take over, away from the lost hosts."""

    why: str
    lost: Tuple[str, ...]


@dataclass(frozen=True)
class End:
    """The run is over."""

    outcome: str
    why: str


Action = Union[Start, Ask, Kill, Drop, HandOver, End]
Decision = Tuple[State, Tuple[Action, ...]]


def decide(policy: Policy, state: State, event: Event) -> Decision:
    """The next state and what to do now."""
    if state.phase == ENDED:
        return state, ()
    known = _present(state, event)
    if event.kind == "asked" and not state.asked:
        known = replace(known, asked=event.why, asked_at=event.now)
    if state.phase == GATHERING:
        return _gathering(policy, known, event)
    if state.phase == RUNNING:
        return _running(policy, known, event, newly_asked=known.asked != state.asked)
    return _stopping(policy, known, event)


def _present(state: State, event: Event) -> State:
    """The hosts that are there and those that are not, after the event."""
    if event.kind == "joined":
        return replace(
            state,
            ready=(*_without(state.ready, event.host), event.host),
            lost=_without(state.lost, event.host),
        )
    if event.kind == "lost":
        return replace(
            state,
            ready=_without(state.ready, event.host),
            lost=(*_without(state.lost, event.host), event.host),
        )
    return state


def _gathering(policy: Policy, state: State, event: Event) -> Decision:
    if state.asked:
        return _after_stop(policy, state, event)
    waited = event.now - state.since
    all_there = set(policy.hosts) <= set(state.ready) | set(state.lost)
    if len(state.ready) >= policy.nodes and (all_there or waited >= LINGER_S):
        return _start(policy, state, event)
    if all_there or waited >= policy.join_s:
        missing = tuple(host for host in policy.hosts if host not in state.ready)
        return _after_loss(policy, replace(state, lost=missing), event)
    return state, ()


def _running(policy: Policy, state: State, event: Event, *, newly_asked: bool) -> Decision:
    if event.host in state.members and event.kind in ("lost", "joined"):
        # an agent that joins again has lost its ranks on the way, even if nobody saw it go
        return _stop(state, event, HOST_LOST)
    if event.kind == "exited" and event.generation == state.generation:
        state = _note_exit(state, event)
    if event.kind == "beat" and state.failed_at and event.now >= state.failed_at + PROOF_OF_LIFE_S:
        state = replace(state, alive=(*_without(state.alive, event.host), event.host))
    if set(state.done) >= set(state.members):
        return _stop(state, event, STOPPED if state.asked and not event.finished else FINISHED)
    if state.failed_at and set(state.alive) >= set(state.members):
        return _stop(state, event, STOPPED if state.asked else RANKS_FAILED)
    if state.asked and event.now >= state.asked_at + policy.grace_s:
        return _stop(state, event, STOPPED)
    return state, (Ask(state.asked),) if newly_asked else ()


def _note_exit(state: State, event: Event) -> State:
    if event.code == 0:
        return replace(state, done=(*_without(state.done, event.host), event.host))
    return replace(state, failed_at=state.failed_at or event.now)


def _stop(state: State, event: Event, why: str) -> Decision:
    busy = tuple(
        host
        for host in state.members
        if host in state.ready and not (event.kind == "joined" and host == event.host)
    )
    stopping = replace(state, phase=STOPPING, since=event.now, busy=busy, why=why)
    return stopping, (Kill(state.generation, busy, why),) if busy else ()


def _stopping(policy: Policy, state: State, event: Event) -> Decision:
    gone = event.kind in ("lost", "joined") or (event.kind == "idle" and event.generation == state.generation)
    busy = _without(state.busy, event.host) if gone else state.busy
    if event.kind == "lost" and event.host in state.members and state.why == RANKS_FAILED:
        state = replace(state, why=HOST_LOST)  # the host took the ranks with it, and was only noticed now
    if busy and event.now >= state.since + CLEAR_S:
        lost = replace(
            state, busy=(), ready=_without(state.ready, *busy), lost=(*_without(state.lost, *busy), *busy)
        )
        drops: tuple[Action, ...] = tuple(Drop(host) for host in busy)
        after, actions = _next(policy, lost, event)
        return after, drops + actions
    if busy:
        return replace(state, busy=busy), ()
    return _next(policy, replace(state, busy=()), event)


def _next(policy: Policy, state: State, event: Event) -> Decision:
    """What follows when nothing of the last generation is left."""
    if state.why == FINISHED or event.finished:
        return _end(state, FINISHED, "every rank left with exit code 0")
    if state.asked:
        return _after_stop(policy, state, event)
    if state.why == HOST_LOST:
        return _after_loss(policy, state, event)
    return _after_failure(policy, state, event)


def _after_loss(policy: Policy, state: State, event: Event) -> Decision:
    """As the job file says: a spare, fewer hosts, a successor, or the end."""
    away = ", ".join(state.lost)
    if policy.on_host_loss == "fail":
        return _end(state, FAILED, f"lost {away}; on_host_loss is `fail`")
    fewest = policy.min_nodes if policy.on_host_loss == "shrink" else policy.nodes
    if len(state.ready) >= fewest:
        return _start(policy, state, event)
    return _hand_over(
        policy, state, f"lost {away}, and {len(state.ready)} hosts left are fewer than {fewest}"
    )


def _after_failure(policy: Policy, state: State, event: Event) -> Decision:
    """Once more from the newest checkpoint, as long as that leads further each time."""
    if policy.restarts == 0:
        return _end(state, FAILED, "a rank failed, and `recovery.restarts` is 0")
    if event.step <= state.step:
        return _end(
            state,
            NO_PROGRESS,
            f"ranks failed {policy.restarts + 1} times without a checkpoint beyond step {state.step}",
        )
    if len(state.ready) < policy.min_nodes:
        return _after_loss(policy, state, event)
    return _start(policy, state, event)


def _after_stop(policy: Policy, state: State, event: Event) -> Decision:
    if event.finished:
        return _end(state, FINISHED, "the training is complete")
    if state.asked == CANCELLED:
        return _end(state, CANCELLED, "cancelled by a person")
    return _hand_over(policy, state, state.asked)


def _start(policy: Policy, state: State, event: Event) -> Decision:
    """The next generation: those who trained stay, in the order of the allocation; then whoever is ready."""
    order = {host: place for place, host in enumerate(policy.hosts)}
    ready = sorted(
        state.ready,
        key=lambda host: (bool(state.members) and host not in state.members, order.get(host, len(order))),
    )
    chosen = tuple(ready[: policy.nodes])
    begun = State(
        phase=RUNNING, since=event.now, generation=state.generation + 1, ready=state.ready, lost=state.lost,
        members=chosen, step=event.step, asked=state.asked, asked_at=state.asked_at,
    )  # fmt: skip
    return begun, (Start(begun.generation, chosen),)


def _hand_over(policy: Policy, state: State, why: str) -> Decision:
    if policy.successors <= 0:
        return _end(state, FAILED, f"{why}; no successor is left (`recovery.successors`)")
    return replace(state, phase=ENDED), (HandOver(why, state.lost),)


def _end(state: State, outcome: str, why: str) -> Decision:
    return replace(state, phase=ENDED), (End(outcome, why),)


def _without(hosts: tuple[str, ...], *gone: str) -> tuple[str, ...]:
    return tuple(host for host in hosts if host not in gone)
