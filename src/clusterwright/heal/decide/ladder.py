"""Which rung of a rule's ladder is next for one host, and what keeps from it; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from clusterwright.heal.observation import Finding, HostStatus, Observation
from clusterwright.heal.past import COUNTS, ActionRecord, Incident, Intent, Past
from clusterwright.heal.policy import Policy
from clusterwright.heal.rule import Rule, Step

EMPTY = frozenset({"reset-gpu", "reboot", "reapply", "replace"})  # where no job runs, and none can start
CHECKED_DRAINS = frozenset(
    {"heal", "health", "hooks"}
)  # drains that hold until a check passes: nobody else need drain


@dataclass(frozen=True, slots=True)
class Fault:
    """One open incident with its rule and what is seen of it now, on a host as Slurm has it."""

    incident: Incident
    rule: Rule
    findings: tuple[Finding, ...]
    node: HostStatus


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing now; `why` is worth telling a person once where it is not empty."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class Handoff:
    """No rung is left, or the same was tried too often."""

    why: str


Next = Intent | Wait | Handoff


def next_step(fault: Fault, observation: Observation, past: Past, policy: Policy) -> Next:
    """The first rung that is not used up and has something to do."""
    for step in fault.rule.steps:
        for intent in _expand_step(step, fault, observation, past, policy):
            attempts = [
                record
                for record in past.actions
                if record.incident == fault.incident.id and _is_same_action(record, intent)
            ]
            if len(attempts) < step.times:
                return rate_limit(intent, observation, past, policy) or _when_empty(intent, fault.node)
    return Handoff("nothing is left to try" if fault.rule.steps else "this is for a person to fix")


def _is_same_action(record: ActionRecord, intent: Intent) -> bool:
    """The same rung again; each job is its own."""
    record_intent = record.intent
    return (
        record.state in COUNTS
        and (record_intent.action, record_intent.unit) == (intent.action, intent.unit)
        and record_intent.job == intent.job
    )


def rate_limit(intent: Intent, observation: Observation, past: Past, policy: Policy) -> Next | None:
    """The pause, which doubles, and the number of times; over all rules, so a fault that changes its name counts."""
    if intent.job:
        return None  # each job is requeued for itself, and once
    attempts = [
        record
        for record in past.on_host(intent.host)
        if record.state in COUNTS
        and (record.intent.action, record.intent.unit) == (intent.action, intent.unit)
        and observation.now.seconds_since(record.time) < policy.window_s
    ]
    # One drain more than returns, so that a host which comes and goes ends out of service.
    if len(attempts) >= policy.max_attempts + (intent.action == "drain"):
        return Handoff(f"{intent.action} was done {len(attempts)} times within its window")
    last = min((observation.now.seconds_since(record.time) for record in attempts), default=None)
    if last is not None and last < policy.pause_s * 2 ** (len(attempts) - 1):
        return Wait()
    return None


def _when_empty(intent: Intent, node: HostStatus) -> Next:
    if intent.action in EMPTY and (node.jobs or not node.out):
        return Wait()
    return intent


@dataclass(frozen=True, slots=True)
class _Rung:
    """A rung here and now: `intent` is what it means for the host as a whole."""

    intent: Intent
    step: Step
    fault: Fault
    observation: Observation
    past: Past
    policy: Policy


def _expand_step(
    step: Step, fault: Fault, observation: Observation, past: Past, policy: Policy
) -> Iterator[Intent]:
    """What a rung means here and now: nothing where it is done already, one intent for each job."""
    reasons = dict.fromkeys(
        f"{finding.source}: {finding.words or finding.code}"[:200] for finding in fault.findings[:4]
    )
    intent = Intent(fault.node.name, fault.rule.name, step.do, "; ".join(reasons))
    rung = _Rung(intent, step, fault, observation, past, policy)
    yield from _RUNGS.get(step.do, _host_intent)(rung)


def _host_intent(rung: _Rung) -> Iterator[Intent]:
    yield rung.intent


def _drain(rung: _Rung) -> Iterator[Intent]:
    node = rung.fault.node
    if not (node.drained and node.holder in CHECKED_DRAINS):
        yield rung.intent


def _service(rung: _Rung) -> Iterator[Intent]:
    """The rule's unit, or the one that is found: `services:munge.service`."""
    unit_name = rung.fault.findings[0].code.partition(":")[2]
    if unit := rung.step.unit or (unit_name if unit_name.endswith(".service") else ""):
        yield replace(rung.intent, unit=unit)


def _reset(rung: _Rung) -> Iterator[Intent]:
    """The GPU that is found, such as `gpu 3`; all of the host's where none is named."""
    parts = [finding.part for finding in rung.fault.findings if finding.part.startswith("gpu")]
    yield replace(rung.intent, unit=parts[0] if parts else "")


def _requeue(rung: _Rung) -> Iterator[Intent]:
    """Jobs that their users let Slurm start anew; no training of ours: its supervisor goes on without the host."""
    for name in rung.fault.node.jobs:
        job = rung.observation.jobs.get(name)
        if job and job.can_requeue and job.state == "RUNNING":
            yield replace(rung.intent, job=name)


def _exclude(rung: _Rung) -> Iterator[Intent]:
    """A job that failed there, and waits to be started again."""
    node = rung.fault.node
    for name in dict.fromkeys(finding.job for finding in rung.fault.findings if finding.job):
        job = rung.observation.jobs.get(name)
        if job and job.state == "PENDING" and node.name not in job.excludes and not node.drained:
            yield replace(rung.intent, job=name)


def _replace(rung: _Rung) -> Iterator[Intent]:
    """By the first spare that waits in a partition of the host's, was checked at this look, and has no fault."""
    bad = {finding.host for finding in rung.observation.findings}
    bad |= {
        record.intent.spare
        for record in rung.past.actions
        if record.incident == rung.fault.incident.id and record.state in COUNTS
    }
    for name in rung.policy.spares:
        node = rung.observation.nodes.get(name)
        if (
            node
            and name not in bad
            and name in rung.observation.passed
            and _can_replace(node, rung.fault.node)
        ):
            yield replace(rung.intent, spare=name)
            return


def _can_replace(spare: HostStatus, host: HostStatus) -> bool:
    waits = spare.holder == "spare" and spare.state.is_up and not spare.changing
    return waits and bool(set(spare.partitions) & set(host.partitions))


_RUNGS: dict[str, Callable[[_Rung], Iterator[Intent]]] = {
    "drain": _drain,
    "restart-service": _service,
    "reset-gpu": _reset,
    "requeue": _requeue,
    "exclude": _exclude,
    "replace": _replace,
}
