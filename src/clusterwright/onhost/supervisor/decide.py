"""The supervisor's state machine: `decide(policy, state, event) -> (state, actions)`, without clock, file or process.

One generation trains at a time. The next one starts only after every member of the last one has reported that
its ranks ended, or has sent nothing for `heartbeat_age_s`, after which its own agent has ended them (node.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Optional, Tuple, Union

from clusterwright.onhost.lib import run_outcome

GATHERING, RUNNING, STOPPING, ENDED = "gathering", "running", "stopping", "ended"
HOST_LOST, RANKS_FAILED, HUNG, STOPPED, GROWN = "host-lost", "ranks-failed", "hung", "stopped", "grown"
REQUESTED_STOPS = (STOPPED, GROWN)
# error codes of ranks that leave on purpose (runtime/codes.py)
FINISHED, FAILED = run_outcome.FINISHED, run_outcome.FAILED
NO_PROGRESS, CANCELED = run_outcome.NO_PROGRESS, run_outcome.CANCELED
NOT_RETRYABLE = frozenset({"not-finite", "checkpoint-format", "checkpoints-unusable"})

# A generation on fewer hosts than requested grows after this at the earliest: a restart costs 0.4 s, so at most 2 %.
GROW_S = 30
SETTLE_S = 8  # a host that has just joined imports torch first; ranks that wait for it do not train
GROW_TIMEOUT_S = 600  # ranks leave after the current step; a step longer than this is ended and repeated
LINGER_S = 2  # with enough hosts ready, wait this long for the others: srun starts all within a second
CLEAR_S = 10  # a host that cannot kill its ranks in this time has a hung kernel and counts as lost


@dataclass(frozen=True)
class Policy:
    """The settings that `decide` uses, from the job file; times in seconds."""

    hosts: Tuple[str, ...]
    nodes: int
    min_nodes: int
    on_host_loss: str = "successor"
    restarts: int = 3
    successors: int = 5
    join_s: float = 60
    linger_s: float = LINGER_S
    return_s: float = 6  # a host that was slow or briefly isolated is back within this time
    grace_s: float = 30


@dataclass(frozen=True)
class RankExit:
    """How a rank failed.

    `signature` is the same text for the same failure; empty when the cause lies outside the rank.
    """

    message: str = ""
    signature: str = ""
    retryable: bool = True


@dataclass(frozen=True)
class State:
    """The state of the job's current generation and of its hosts."""

    phase: str = GATHERING
    phase_start: float = 0
    generation: int = 0
    ready: Tuple[str, ...] = ()
    joined_at: float = 0  # when the last of them joined
    lost_hosts: Tuple[str, ...] = ()
    members: Tuple[str, ...] = ()
    finished_hosts: Tuple[str, ...] = ()
    busy: Tuple[str, ...] = ()
    reason: str = ""
    stop_reason: str = ""
    stop_requested_at: float = 0
    growing: bool = False  # the ranks are requested to stop for a generation on more hosts
    growing_at: float = 0
    step: int = 0  # the furthest step that any generation reached
    signature: str = ""  # of the last generation's failure; empty if its cause lay outside the ranks
    failed: Optional[RankExit] = None  # how this generation failed
    failed_on: str = ""  # the host of that failure
    stuck: int = 0  # consecutive failures without progress
    deserted: bool = False  # all members were lost and may rejoin within Policy.return_s
    barred: Tuple[str, ...] = ()  # hosts that may not train any more in this job


@dataclass(frozen=True)
class Event:
    """One event of the job; `kind` says what happened, mostly on `host`.

    joined, lost: of the host's agent. done, failed, hung: its ranks ended, failed, hang. broken: they failed by the
    host's own fault. idle: none is left. apart: they reach no others. deaf: they cannot receive a stop request.
    asked: a stop is requested, for `reason`. tick: time has passed. `exit`: how a rank failed.
    """

    kind: str
    now: float
    host: str = ""
    generation: int = 0
    reason: str = ""
    step: int = 0
    finished: bool = False
    exit: Optional[RankExit] = None


@dataclass(frozen=True)
class Start:
    """Start a generation on these hosts; the first one serves the rendezvous store."""

    generation: int
    hosts: Tuple[str, ...]


@dataclass(frozen=True)
class RequestStop:
    """Request that the ranks save and leave; with GROWN they save into memory, since others resume at once."""

    reason: str


@dataclass(frozen=True)
class Kill:
    """Kill the ranks of the generation on these hosts at once."""

    generation: int
    hosts: Tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Drop:
    """Disconnect a host whose agent does not execute its orders."""

    host: str


@dataclass(frozen=True)
class Handoff:
    """End this job and let a successor job, on other hosts than the lost ones, continue the run."""

    reason: str
    lost_hosts: Tuple[str, ...]


@dataclass(frozen=True)
class End:
    """End the run with this outcome."""

    outcome: str
    reason: str


Action = Union[Start, RequestStop, Kill, Drop, Handoff, End]
Decision = Tuple[State, Tuple[Action, ...]]


def decide(policy: Policy, state: State, event: Event) -> Decision:
    """Return the next state of the job after an event, and the actions to execute now; none once it has ended."""
    if state.phase == ENDED:
        return state, ()
    current = _present(state, event)
    if event.kind == "asked" and not state.stop_reason:
        current = replace(current, stop_reason=event.reason, stop_requested_at=event.now)
    if state.phase == GATHERING:
        return _gathering(policy, current, event)
    if state.phase == RUNNING:
        return _running(policy, current, event, stop_requested=current.stop_reason != state.stop_reason)
    return _stopping(policy, current, event)


def _present(state: State, event: Event) -> State:
    """Return the state with ready, lost and barred hosts updated for an event; a barred host does not join."""
    if event.kind == "joined" and event.host not in state.barred:
        return replace(
            state,
            ready=(*_exclude(state.ready, event.host), event.host),
            lost_hosts=_exclude(state.lost_hosts, event.host),
            joined_at=event.now,
        )
    if event.kind == "lost":
        return _set_lost(state, event.host)
    if event.kind == "apart":
        barred = _bar(state, event.host)
        return barred if event.host in state.members else _set_lost(barred, event.host)
    return state


def _gathering(policy: Policy, state: State, event: Event) -> Decision:
    if state.stop_reason:
        return _after_stop(policy, state, event)
    state = _check_deserted(policy, state, event)
    if state.deserted:
        return state, ()
    waited = event.now - state.phase_start
    all_present = set(policy.hosts) <= set(state.ready) | set(state.lost_hosts)
    if len(state.ready) >= policy.nodes and (all_present or waited >= policy.linger_s):
        return _start(policy, state, event)
    if all_present or waited >= policy.join_s:
        missing = tuple(host for host in policy.hosts if host not in state.ready)
        return _after_loss(policy, replace(state, lost_hosts=missing), event)
    return state, ()


def _running(policy: Policy, state: State, event: Event, *, stop_requested: bool) -> Decision:
    if event.host in state.members and event.kind in ("lost", "joined"):
        # an agent that joins again has lost its ranks, even if no disconnect was observed
        return _stop(state, event, HOST_LOST)
    if event.generation == state.generation and event.kind in ("failed", "broken"):
        failed = replace(state, failed=event.exit, failed_on=event.host)
        failed = _bar(failed, event.host) if event.kind == "broken" else failed
        return _stop(failed, event, STOPPED if state.stop_reason else RANKS_FAILED)
    if event.kind == "apart" and event.host in state.members:
        return _stop(state, event, STOPPED if state.stop_reason else HOST_LOST)
    if event.generation == state.generation and event.kind == "hung":
        hung = replace(state, failed=None, failed_on=event.host)
        return _stop(hung, event, STOPPED if state.stop_reason else HUNG)
    if event.generation == state.generation and event.kind == "done":
        state = replace(state, finished_hosts=(*_exclude(state.finished_hosts, event.host), event.host))
    if set(state.finished_hosts) >= set(state.members):
        return _stop(state, event, FINISHED if event.finished else _requested_outcome(state) or FINISHED)
    if state.stop_reason and event.now >= state.stop_requested_at + policy.grace_s:
        return _stop(state, event, STOPPED)
    if stop_requested:
        return state, (RequestStop(state.stop_reason),)
    return _growing(policy, state, event)


def _requested_outcome(state: State) -> str:
    """Return STOPPED or GROWN if the ranks were requested to leave; else ""."""
    return STOPPED if state.stop_reason else GROWN if state.growing else ""


def _growing(policy: Policy, state: State, event: Event) -> Decision:
    """Return the request that ranks stop for a larger generation, or their end if they cannot or do not stop."""
    if not state.growing and _can_grow(policy, state, event):
        return replace(state, growing=True, growing_at=event.now), (RequestStop(GROWN),)
    is_unresponsive = event.kind == "deaf" and event.generation == state.generation
    if (
        state.growing
        and not state.stop_reason
        and (is_unresponsive or event.now >= state.growing_at + GROW_TIMEOUT_S)
    ):
        return _stop(state, event, GROWN)
    return state, ()


def _can_grow(policy: Policy, state: State, event: Event) -> bool:
    """Return True if the job trains on fewer hosts than requested and another one has been ready long enough."""
    few = len(state.members) < policy.nodes and set(state.ready) - set(state.members) - set(state.barred)
    earliest = max(state.phase_start + GROW_S, state.joined_at + SETTLE_S)
    return bool(few) and not state.stop_reason and not state.finished_hosts and event.now >= earliest


def _stop(state: State, event: Event, reason: str) -> Decision:
    busy = tuple(
        host
        for host in state.members
        if host in state.ready and not (event.kind == "joined" and host == event.host)
    )
    stopping = replace(state, phase=STOPPING, phase_start=event.now, busy=busy, reason=reason)
    return stopping, (Kill(state.generation, busy, reason),) if busy else ()


def _stopping(policy: Policy, state: State, event: Event) -> Decision:
    is_cleared = event.kind in ("lost", "joined") or (
        event.kind == "idle" and event.generation == state.generation
    )
    busy = _exclude(state.busy, event.host) if is_cleared else state.busy
    if event.kind == "lost" and event.host in state.members and state.reason in (RANKS_FAILED, HUNG):
        state = replace(state, reason=HOST_LOST)  # the cause was the lost host
    if busy and event.now >= state.phase_start + CLEAR_S:
        reduced = replace(_set_lost(state, *busy), busy=())
        drops: tuple[Action, ...] = tuple(Drop(host) for host in busy)
        next_state, actions = _next(policy, reduced, event)
        return next_state, drops + actions
    if busy:
        return replace(state, busy=busy), ()
    phase_start = event.now if state.busy else state.phase_start
    return _next(policy, replace(state, busy=(), phase_start=phase_start), event)


def _next(policy: Policy, state: State, event: Event) -> Decision:
    """Return the next state and actions after all ranks of a generation ended; no actions while it waits for hosts."""
    if state.reason == FINISHED or event.finished:
        return _end(state, FINISHED, "every rank exited with code 0")
    if state.stop_reason:
        return _after_stop(policy, state, event)
    state = _check_deserted(policy, state, event)
    if state.deserted:
        return state, ()
    barred = tuple(host for host in state.members if host in state.barred and host in state.ready)
    if barred or state.reason in (HOST_LOST, GROWN):
        return _after_loss(policy, _set_lost(state, *barred), event)
    return _after_failure(policy, state, event)


def _check_deserted(policy: Policy, state: State, event: Event) -> State:
    """Return the state with `deserted` True while no host of the last generation is ready.

    The job waits up to `return_s` for them and their in-memory checkpoints; not with `on_host_loss: fail`.
    """
    trained = set(state.members) - set(state.barred)
    deserted = (
        bool(trained) and policy.on_host_loss != "fail" and (state.deserted or not trained & set(state.ready))
    )
    over = trained <= set(state.ready) or event.now >= state.phase_start + policy.return_s
    return replace(state, deserted=deserted and not over)


def _after_loss(policy: Policy, state: State, event: Event) -> Decision:
    """Return what follows the loss of hosts, by `on_host_loss`: a start, a successor job, or the end as failed."""
    lost_names = ", ".join(state.lost_hosts)
    if policy.on_host_loss == "fail":
        return _end(state, FAILED, f"lost {lost_names}; `recovery.on_host_loss` is `fail`")
    fewest = _fewest(policy)
    if len(state.ready) >= fewest:
        return _start(policy, state, event)
    return _handoff(policy, state, f"lost {lost_names}; {len(state.ready)} of {fewest} required hosts left")


def _fewest(policy: Policy) -> int:
    """Return the smallest number of hosts that the job continues with, by `recovery.on_host_loss`."""
    return policy.min_nodes if policy.on_host_loss == "shrink" else policy.nodes


def _after_failure(policy: Policy, state: State, event: Event) -> Decision:
    """Return what follows a rank's failure: a restart, or the end: not retryable, or no progress by restarts.

    After a second failure without progress, the host that failed is barred if a standby host is ready.
    """
    failed = state.failed or RankExit()
    if not failed.retryable:
        return _end(state, FAILED, f"{failed.message}; not retryable")
    if policy.restarts == 0:
        return _end(state, FAILED, "a rank failed, and `recovery.restarts` is 0")
    stuck = 0 if event.step > state.step else state.stuck + 1
    if stuck and failed.signature and failed.signature == state.signature:
        return _end(state, NO_PROGRESS, f"the same failure twice at step {event.step}: {failed.signature}")
    if stuck > policy.restarts:
        return _end(
            state, NO_PROGRESS, f"ranks failed {stuck} times in a row without a step beyond {state.step}"
        )
    current = replace(state, stuck=stuck, signature=failed.signature, failed_on="")
    if stuck > 1 and state.failed_on and len(state.ready) > policy.nodes:
        # two failures without progress, and a standby host is ready that may not have the fault
        return _next(policy, _bar(current, state.failed_on), event)
    if len(state.ready) < _fewest(policy):
        return _after_loss(policy, current, event)
    return _start(policy, current, event)


def _after_stop(policy: Policy, state: State, event: Event) -> Decision:
    if event.finished:
        return _end(state, FINISHED, "the training is complete")
    if state.stop_reason == CANCELED:
        return _end(state, CANCELED, "canceled by the user")
    return _handoff(policy, state, state.stop_reason)


def _start(policy: Policy, state: State, event: Event) -> Decision:
    """Return the next state, and the start of a generation: on its last members, then other ready hosts."""
    order = {host: index for index, host in enumerate(policy.hosts)}
    ready = sorted(
        state.ready,
        key=lambda host: (bool(state.members) and host not in state.members, order.get(host, len(order))),
    )
    chosen = tuple(ready[: policy.nodes])
    begun = State(
        phase=RUNNING, phase_start=event.now, generation=state.generation + 1, ready=state.ready,
        lost_hosts=state.lost_hosts,
        joined_at=state.joined_at, members=chosen, step=max(state.step, event.step), stop_reason=state.stop_reason,
        stop_requested_at=state.stop_requested_at, signature=state.signature, stuck=state.stuck, barred=state.barred,
    )  # fmt: skip
    return begun, (Start(begun.generation, chosen),)


def _handoff(policy: Policy, state: State, reason: str) -> Decision:
    if policy.successors <= 0:
        return _end(state, FAILED, f"{reason}; no successor job is left (`recovery.successors`)")
    return replace(state, phase=ENDED), (Handoff(reason, state.lost_hosts),)


def _end(state: State, outcome: str, reason: str) -> Decision:
    return replace(state, phase=ENDED), (End(outcome, reason),)


def _bar(state: State, host: str) -> State:
    """Return the state in which the host is barred from training in this job, even if it reports ready."""
    return replace(state, barred=(*_exclude(state.barred, host), host))


def _set_lost(state: State, *hosts: str) -> State:
    """Return the state in which these hosts are lost and not ready."""
    return replace(
        state, ready=_exclude(state.ready, *hosts), lost_hosts=(*_exclude(state.lost_hosts, *hosts), *hosts)
    )


def _exclude(hosts: tuple[str, ...], *excluded: str) -> tuple[str, ...]:
    return tuple(host for host in hosts if host not in excluded)
