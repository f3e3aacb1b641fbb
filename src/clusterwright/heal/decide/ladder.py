"""The next step of a rule's ladder (its actions, cheapest first) for one host, and its rate limits; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from clusterwright.heal.observation import FaultFinding, HostStatus, Observation
from clusterwright.heal.past import COUNTS, ActionRecord, Incident, Intent, Past
from clusterwright.heal.policy import Policy
from clusterwright.heal.rule import Rule, RuleStep
from clusterwright.i18n import _

EMPTY = frozenset(
    {"reset-gpu", "reboot", "reapply", "replace"}
)  # actions that run only on drained hosts without jobs
CHECKED_DRAINS = frozenset({"heal", "health", "hooks"})  # drains that end only after passed checks


@dataclass(frozen=True, slots=True)
class LadderFault:
    """One open incident with its rule, its current findings and the node as Slurm reports it."""

    incident: Incident
    rule: Rule
    findings: tuple[FaultFinding, ...]
    node: HostStatus


@dataclass(frozen=True, slots=True)
class Wait:
    """No action now; a non-empty `reason` is sent as a notification once."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Handoff:
    """No step is left, or an action was tried too often: an operator takes over."""

    reason: str


Next = Intent | Wait | Handoff


def next_step(fault: LadderFault, observation: Observation, past: Past, policy: Policy) -> Next:
    """Return the first step of the ladder that has attempts left and applies; a handoff if there is none.

    If that step ran too recently or too often, return a wait or a handoff; a wait if it needs an empty, drained host.
    """
    for step in fault.rule.steps:
        for intent in _expand_step(step, fault, observation, past, policy):
            attempts = [
                record
                for record in past.actions
                if record.incident == fault.incident.id and _is_same_action(record, intent)
            ]
            if len(attempts) < step.times:
                return rate_limit(intent, observation, past, policy) or _when_empty(intent, fault.node)
    return Handoff(
        _("heal has tried all actions of the rule for this fault")
        if fault.rule.steps
        else _("the rule has no repair; an operator must repair the host")
    )


def _is_same_action(record: ActionRecord, intent: Intent) -> bool:
    """Return True if the record is an attempt of the same action on the host; each job counts separately."""
    record_intent = record.intent
    return (
        record.state in COUNTS
        and (record_intent.action, record_intent.unit) == (intent.action, intent.unit)
        and record_intent.job == intent.job
    )


def rate_limit(intent: Intent, observation: Observation, past: Past, policy: Policy) -> Next | None:
    """Return a handoff if the action ran too often in the window, a wait if too recently, else None; None for jobs.

    The pause doubles with each attempt. Attempts of all rules count, so that another name of the fault resets nothing.
    """
    if intent.job:
        return None  # each job is requeued once
    attempts = [
        record
        for record in past.on_host(intent.host)
        if record.state in COUNTS
        and (record.intent.action, record.intent.unit) == (intent.action, intent.unit)
        and observation.now.seconds_since(record.time) < policy.window_s
    ]
    # A host may be drained once more than resumed, so that a flapping host ends out of service.
    if len(attempts) >= policy.max_attempts + (intent.action == "drain"):
        return Handoff(
            _(
                "heal ran the action {action} {count} times within heal.window",
                action=intent.action,
                count=len(attempts),
            )
        )
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
    """A step of the ladder with its context; `intent` is its intent for the whole host."""

    intent: Intent
    step: RuleStep
    fault: LadderFault
    observation: Observation
    past: Past
    policy: Policy


def _expand_step(
    step: RuleStep, fault: LadderFault, observation: Observation, past: Past, policy: Policy
) -> Iterator[Intent]:
    """Yield the intents of a step: none if it is done already, one per job for actions on jobs."""
    reasons = dict.fromkeys(
        f"{finding.source}: {finding.message or finding.code}"[:200] for finding in fault.findings[:4]
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
    """Yield the intent to restart the step's unit, or that in the finding's code (`services:munge.service`).

    Else nothing.
    """
    unit_name = rung.fault.findings[0].code.partition(":")[2]
    if unit := rung.step.unit or (unit_name if unit_name.endswith(".service") else ""):
        yield replace(rung.intent, unit=unit)


def _reset(rung: _Rung) -> Iterator[Intent]:
    """Yield the intent to reset the GPU of the finding, such as `gpu 3`; all GPUs of the host if it names none."""
    parts = [finding.part for finding in rung.fault.findings if finding.part.startswith("gpu")]
    yield replace(rung.intent, unit=parts[0] if parts else "")


def _requeue(rung: _Rung) -> Iterator[Intent]:
    """Yield an intent for each running job on the host that Slurm may requeue.

    Supervised trainings continue without the host instead.
    """
    for name in rung.fault.node.jobs:
        job = rung.observation.jobs.get(name)
        if job and job.can_requeue and job.state == "RUNNING":
            yield replace(rung.intent, job=name)


def _exclude(rung: _Rung) -> Iterator[Intent]:
    """Yield an intent for each pending job that failed on the host and does not exclude it.

    Nothing on a drained host.
    """
    node = rung.fault.node
    for name in dict.fromkeys(finding.job for finding in rung.fault.findings if finding.job):
        job = rung.observation.jobs.get(name)
        if job and job.state == "PENDING" and node.name not in job.excludes and not node.drained:
            yield replace(rung.intent, job=name)


def _replace(rung: _Rung) -> Iterator[Intent]:
    """Yield the intent to resume the first spare that can replace the host and passed its checks in this poll.

    Else nothing. Spares with findings, or that this incident used before, are left out.
    """
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
