"""What a supervisor does next: `decide(policy, state, event) -> (state, actions)`, with no clock, file or process.

One generation trains at a time. Before the next one begins, every member of the last one has said that its ranks are
gone, or has been silent for `silence_s`, after which its own agent has ended them (see node.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Optional, Tuple, Union

GATHERING, RUNNING, STOPPING, ENDED = "gathering", "running", "stopping", "ended"
HOST_LOST, RANKS_FAILED, HUNG, STOPPED, GROWN = "host-lost", "ranks-failed", "hung", "stopped", "grown"
BY_WISH = (STOPPED, GROWN)
NOT_RETRYABLE = frozenset({"not-finite"})  # causes for which a rank leaves (runtime/codes.py)
FINISHED, FAILED, NO_PROGRESS, CANCELLED = "finished", "failed", "no-progress", "cancelled"

# Fewer hosts than wanted take in another one no sooner: a restart costs 0.4 s, so 2 % of the time at most.
GROW_S = 30
SETTLE_S = 8  # a host that has just come imports torch first; ranks that wait for that do not train
ROOM_S = 600  # ranks that are to make room leave after the step that is under way; a longer one is done again
LINGER_S = 2  # with enough hosts there, the others are waited for this long: srun starts all within a second
CLEAR_S = 10  # a host that cannot kill its ranks in this time has a hung kernel, and counts as lost


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
    return_s: float = 6  # a host that was only slow, or cut off for a moment, is back in this time
    grace_s: float = 30


@dataclass(frozen=True)
class RankExit:
    """How a rank ended: `signature` is what is the same if it ends so again; empty when the cause came from outside."""

    words: str = ""
    signature: str = ""
    retryable: bool = True


@dataclass(frozen=True)
class State:
    """Where the job stands."""

    phase: str = GATHERING
    since: float = 0
    generation: int = 0
    ready: Tuple[str, ...] = ()
    joined_at: float = 0  # when the last of them came
    lost: Tuple[str, ...] = ()
    members: Tuple[str, ...] = ()
    done: Tuple[str, ...] = ()
    busy: Tuple[str, ...] = ()
    why: str = ""
    asked: str = ""
    asked_at: float = 0
    growing: bool = False  # the ranks are asked to make room for a generation with more of them
    growing_at: float = 0
    step: int = 0  # the furthest that any generation came
    signature: str = ""  # how the last generation failed, if that may happen again the same way
    failed: Optional[RankExit] = None  # how this one does
    failed_on: str = ""  # on which host
    stuck: int = 0  # failures in a row that led no further
    deserted: bool = False  # all who trained were lost, and may be back in a moment
    barred: Tuple[str, ...] = ()  # hosts that are there and may not train any more


@dataclass(frozen=True)
class Event:
    """Something happened: joined, lost, idle, done, failed, broken, apart, hung, deaf (of a host), asked, tick.

    `broken` is a failure that is the host's own; `apart` is a host whose ranks reach no others; `deaf` are ranks that
    cannot be asked to leave; `asked` is a wish to stop, and `why` its reason; `exit` is how a rank failed.
    """

    kind: str
    now: float
    host: str = ""
    generation: int = 0
    why: str = ""
    step: int = 0
    finished: bool = False
    exit: Optional[RankExit] = None


@dataclass(frozen=True)
class Start:
    """Begin a generation on these hosts, the first of them serving the rendezvous."""

    generation: int
    hosts: Tuple[str, ...]


@dataclass(frozen=True)
class Ask:
    """Ask the ranks to save and leave; with GROWN, into memory, since others go on from there at once."""

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
    if event.kind == "joined" and event.host not in state.barred:
        return replace(
            state,
            ready=(*_without(state.ready, event.host), event.host),
            lost=_without(state.lost, event.host),
            joined_at=event.now,
        )
    if event.kind == "lost":
        return _away(state, event.host)
    if event.kind == "apart":
        barred = _bar(state, event.host)
        return barred if event.host in state.members else _away(barred, event.host)
    return state


def _gathering(policy: Policy, state: State, event: Event) -> Decision:
    if state.asked:
        return _after_stop(policy, state, event)
    state = _left_alone(policy, state, event)
    if state.deserted:
        return state, ()
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
    if event.generation == state.generation and event.kind in ("failed", "broken"):
        failed = replace(state, failed=event.exit, failed_on=event.host)
        failed = _bar(failed, event.host) if event.kind == "broken" else failed
        return _stop(failed, event, STOPPED if state.asked else RANKS_FAILED)
    if event.kind == "apart" and event.host in state.members:
        return _stop(state, event, STOPPED if state.asked else HOST_LOST)
    if event.generation == state.generation and event.kind == "hung":
        hung = replace(state, failed=None, failed_on=event.host)
        return _stop(hung, event, STOPPED if state.asked else HUNG)
    if event.generation == state.generation and event.kind == "done":
        state = replace(state, done=(*_without(state.done, event.host), event.host))
    if set(state.done) >= set(state.members):
        return _stop(state, event, FINISHED if event.finished else _asked_for(state) or FINISHED)
    if state.asked and event.now >= state.asked_at + policy.grace_s:
        return _stop(state, event, STOPPED)
    if newly_asked:
        return state, (Ask(state.asked),)
    return _growing(policy, state, event)


def _asked_for(state: State) -> str:
    """Why the ranks have been asked to leave, if they have."""
    return STOPPED if state.asked else GROWN if state.growing else ""


def _growing(policy: Policy, state: State, event: Event) -> Decision:
    """The ranks are asked to make room, and ended when they cannot hear that, or have not for too long."""
    if not state.growing and _can_grow(policy, state, event):
        return replace(state, growing=True, growing_at=event.now), (Ask(GROWN),)
    deaf = event.kind == "deaf" and event.generation == state.generation
    if state.growing and not state.asked and (deaf or event.now >= state.growing_at + ROOM_S):
        return _stop(state, event, GROWN)
    return state, ()


def _can_grow(policy: Policy, state: State, event: Event) -> bool:
    """Fewer train than the job wants, and a host is there that may, with time to get ready."""
    few = len(state.members) < policy.nodes and set(state.ready) - set(state.members) - set(state.barred)
    since = max(state.since + GROW_S, state.joined_at + SETTLE_S)
    return bool(few) and not state.asked and not state.done and event.now >= since


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
    if event.kind == "lost" and event.host in state.members and state.why in (RANKS_FAILED, HUNG):
        state = replace(state, why=HOST_LOST)  # the host took the ranks with it, and was only noticed now
    if busy and event.now >= state.since + CLEAR_S:
        lost = replace(_away(state, *busy), busy=())
        drops: tuple[Action, ...] = tuple(Drop(host) for host in busy)
        after, actions = _next(policy, lost, event)
        return after, drops + actions
    if busy:
        return replace(state, busy=busy), ()
    since = event.now if state.busy else state.since
    return _next(policy, replace(state, busy=(), since=since), event)


def _next(policy: Policy, state: State, event: Event) -> Decision:
    """What follows when nothing of the last generation is left."""
    if state.why == FINISHED or event.finished:
        return _end(state, FINISHED, "every rank left with exit code 0")
    if state.asked:
        return _after_stop(policy, state, event)
    state = _left_alone(policy, state, event)
    if state.deserted:
        return state, ()
    barred = tuple(host for host in state.members if host in state.barred and host in state.ready)
    if barred or state.why in (HOST_LOST, GROWN):
        return _after_loss(policy, _away(state, *barred), event)
    return _after_failure(policy, state, event)


def _left_alone(policy: Policy, state: State, event: Event) -> State:
    """Nobody who trained is there, and with them went what they hold in memory: they are waited for a moment."""
    trained = set(state.members) - set(state.barred)
    deserted = (
        bool(trained) and policy.on_host_loss != "fail" and (state.deserted or not trained & set(state.ready))
    )
    over = trained <= set(state.ready) or event.now >= state.since + policy.return_s
    return replace(state, deserted=deserted and not over)


def _after_loss(policy: Policy, state: State, event: Event) -> Decision:
    """As the job file says: a spare, fewer hosts, a successor, or the end."""
    away = ", ".join(state.lost)
    if policy.on_host_loss == "fail":
        return _end(state, FAILED, f"lost {away}; on_host_loss is `fail`")
    fewest = _fewest(policy)
    if len(state.ready) >= fewest:
        return _start(policy, state, event)
    return _hand_over(
        policy, state, f"lost {away}, and {len(state.ready)} hosts left are fewer than {fewest}"
    )


def _fewest(policy: Policy) -> int:
    """The fewest hosts to go on with."""
    return policy.min_nodes if policy.on_host_loss == "shrink" else policy.nodes


def _after_failure(policy: Policy, state: State, event: Event) -> Decision:
    """Once more from where the state is kept, as long as that leads further."""
    failed = state.failed or RankExit()
    if not failed.retryable:
        return _end(state, FAILED, f"{failed.words}; not retryable")
    if policy.restarts == 0:
        return _end(state, FAILED, "a rank failed, and `recovery.restarts` is 0")
    stuck = 0 if event.step > state.step else state.stuck + 1
    if stuck and failed.signature and failed.signature == state.signature:
        return _end(state, NO_PROGRESS, f"the same failure twice at step {event.step}: {failed.signature}")
    if stuck > policy.restarts:
        return _end(
            state, NO_PROGRESS, f"ranks failed {stuck} times in a row without a step beyond {state.step}"
        )
    known = replace(state, stuck=stuck, signature=failed.signature, failed_on="")
    if stuck > 1 and state.failed_on and len(state.ready) > policy.nodes:
        # twice without a step between: whatever it is, another host may not have it, and one is ready
        return _next(policy, _bar(known, state.failed_on), event)
    if len(state.ready) < _fewest(policy):
        return _after_loss(policy, known, event)
    return _start(policy, known, event)


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
        joined_at=state.joined_at, members=chosen, step=max(state.step, event.step), asked=state.asked,
        asked_at=state.asked_at, signature=state.signature, stuck=state.stuck, barred=state.barred,
    )  # fmt: skip
    return begun, (Start(begun.generation, chosen),)


def _hand_over(policy: Policy, state: State, why: str) -> Decision:
    if policy.successors <= 0:
        return _end(state, FAILED, f"{why}; no successor is left (`recovery.successors`)")
    return replace(state, phase=ENDED), (HandOver(why, state.lost),)


def _end(state: State, outcome: str, why: str) -> Decision:
    return replace(state, phase=ENDED), (End(outcome, why),)


def _bar(state: State, host: str) -> State:
    """The host trains no more in this job, even if it says that it is ready."""
    return replace(state, barred=(*_without(state.barred, host), host))


def _away(state: State, *hosts: str) -> State:
    """These hosts count as lost."""
    return replace(state, ready=_without(state.ready, *hosts), lost=(*_without(state.lost, *hosts), *hosts))


def _without(hosts: tuple[str, ...], *gone: str) -> tuple[str, ...]:
    return tuple(host for host in hosts if host not in gone)
