"""The decision of one poll: which incidents open and close, which actions run, and which notifications are sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from clusterwright.heal.decide.ladder import Handoff, LadderFault, Wait, next_step, rate_limit
from clusterwright.heal.decide.notice import Faults, believed, claims, faults, witnesses
from clusterwright.heal.observation import HostStatus, Observation
from clusterwright.heal.past import OPEN, Incident, Intent, Past, Witness
from clusterwright.heal.policy import Policy
from clusterwright.heal.rule import ACTIONS, Rule
from clusterwright.i18n import _

FEW = 2  # so many hosts may have a fault at the same time by chance; more may share a cause


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """Nodes by partition, and which of them are out of service; standby spares count as neither."""

    members: Mapping[str, frozenset[str]]
    out: frozenset[str]
    percent: int

    @classmethod
    def from_nodes(cls, nodes: Iterable[HostStatus], percent: int) -> DisruptionBudget:
        """Build the budget from Slurm's nodes and the maximum percentage of a partition out of service.

        Spares do not count.
        """
        members: dict[str, set[str]] = {}
        taking = [node for node in nodes if node.holder != "spare"]
        for node in taking:
            for partition in node.partitions:
                members.setdefault(partition, set()).add(node.name)
        out = frozenset(node.name for node in taking if node.out)
        return cls({name: frozenset(hosts) for name, hosts in members.items()}, out, percent)

    def most(self, partition: str) -> int:
        """Return how many nodes of a partition may be out of service: at least 1, also in a small partition."""
        return max(1, len(self.members[partition]) * self.percent // 100)

    def has(self, host: str) -> bool:
        """Return True if the budgets of all the host's partitions allow it to be out, too, besides those that are."""
        return all(
            len((self.out & members) - {host}) + 1 <= self.most(partition)
            for partition, members in self.members.items()
            if host in members
        )

    def with_host_out(self, host: str) -> DisruptionBudget:
        """Return a copy of the budget in which the host is out of service."""
        return DisruptionBudget(self.members, self.out | {host}, self.percent)

    def is_common(self, hosts: frozenset[str]) -> bool:
        """Return True if so many nodes of a partition share a fault that its cause is probably elsewhere.

        That is more than FEW, and more than may be out of service.
        """
        return any(
            len(members & hosts) > max(FEW, self.most(partition))
            for partition, members in self.members.items()
        )


HEALTHY_POLLS = 2  # consecutive polls without the fault and with passed checks before the host is resumed
_SHAKES = frozenset({"restart-service", "reapply", "reset-gpu", "reboot"})
_SPREADS = frozenset({"drain", "reapply", "reset-gpu", "reboot", "replace", "requeue"})


@dataclass(frozen=True, slots=True)
class Notification:
    """A notification for an operator; each topic is sent once per incident."""

    incident: Incident
    topic: str
    text: str


@dataclass(frozen=True, slots=True)
class Decision:
    """The result of a poll's decision. `incidents` are those that stay open; a new one has the id 0."""

    incidents: tuple[Incident, ...] = ()
    closed: tuple[Incident, ...] = ()
    intents: tuple[tuple[Incident, Intent], ...] = ()
    notifications: tuple[Notification, ...] = ()
    witnesses: tuple[Witness, ...] = ()


@dataclass
class _Context:
    """The input of a decision, and its result so far while hosts are processed one after the other."""

    observation: Observation
    past: Past
    policy: Policy
    rules: Mapping[str, Rule]
    active_faults: Faults
    budget: DisruptionBudget
    intents: list[tuple[Incident, Intent]] = field(default_factory=list)
    notifications: list[Notification] = field(default_factory=list)
    open: list[Incident] = field(default_factory=list)
    closed: list[Incident] = field(default_factory=list)

    def notify(self, incident: Incident, topic: str, text: str) -> Incident:
        """Add a notification on an incident, and return the incident with its topic noted.

        Nothing is added if that topic was sent for the incident before; it is returned unchanged.
        """
        if topic in incident.notified_topics:
            return incident
        notified_incident = replace(incident, notified_topics=incident.notified_topics | {topic})
        self.notifications.append(Notification(notified_incident, topic, text))
        return notified_incident


def decide(observation: Observation, past: Past, policy: Policy, rules: Iterable[Rule]) -> Decision:
    """Decide for every host with an incident, and for hosts that heal left drained; pure.

    A new incident needs enough evidence. While slurmctld does not respond, compute hosts stay as they are.
    """
    rules_by_name = {rule.name: rule for rule in rules}
    active_faults = faults(observation, rules_by_name.values())
    current_witnesses = witnesses(
        observation, past, active_faults, claims(observation, rules_by_name.values()), policy.window_s
    )
    have = {(incident.host, incident.rule): incident for incident in past.incidents}
    new = [
        Incident(0, host, rule, observation.now)
        for host, rule in believed(active_faults, current_witnesses, rules_by_name)
        if (host, rule) not in have
    ]
    context = _Context(
        observation,
        past,
        policy,
        rules_by_name,
        active_faults,
        DisruptionBudget.from_nodes(observation.nodes.values(), policy.max_unavailable_percent),
    )
    by_host: dict[str, list[Incident]] = {}
    for incident in (*past.incidents, *new):
        by_host.setdefault(incident.host, []).append(incident)
    for host in sorted(by_host):
        _of_host(context, host, by_host[host])
    for host in sorted(_left_drained(observation, by_host)):
        _of_drained(context, observation.nodes[host])
    return Decision(
        tuple(context.open),
        tuple(context.closed),
        tuple(context.intents),
        tuple(context.notifications),
        current_witnesses,
    )


def _left_drained(observation: Observation, by_host: Iterable[str]) -> set[str]:
    """Return the names of nodes that heal drained and that have no open incident (`by_host`).

    Their incident was closed while Slurm did not respond.
    """
    return {name for name, node in observation.nodes.items() if node.holder == "heal"} - set(by_host)


def _of_drained(context: _Context, node: HostStatus) -> None:
    nothing = Incident(0, node.name, "", context.observation.now)
    if node.name in context.observation.passed and not _any_fault(context, node.name):
        _return(context, node, nothing)


def _of_host(context: _Context, host: str, incidents: list[Incident]) -> None:
    node = context.observation.nodes.get(host)
    if host not in context.policy.hosts or (node is not None and node.holder == "spare"):
        context.open += _notify_only(context, incidents)
    elif not context.observation.slurm:
        context.open += [incident for incident in incidents if incident.id]
    elif node is None or node.holder in ("person", "command") or node.state.is_in_maintenance:
        _end_repair(context, incidents, node)
    elif node.changing or _has_open_action(context, host):
        context.open += incidents
    else:
        _continue_repair(context, node, incidents)


def _notify_only(context: _Context, incidents: list[Incident]) -> list[Incident]:
    """Notify once of each present fault of a host that is no Slurm node, such as the control host; close resolved ones.

    Return those still open.
    """
    open_incidents = []
    for incident in incidents:
        if _is_resolved(context, incident):
            context.closed.append(incident)
        else:
            text = f"{_why(context, incident)}. {_(context.rules[incident.rule].fix)}"
            open_incidents.append(
                context.notify(incident, "hand-over", text) if _now(context, incident) else incident
            )
    return open_incidents


def _end_repair(context: _Context, incidents: list[Incident], node: HostStatus | None) -> None:
    """Close the incidents of a node that someone else drained or removed.

    Notify once of those that heal had acted on.
    """
    for incident in incidents:
        ours = any(record.incident == incident.id for record in context.past.actions) and incident.id
        if ours:
            text = (
                _(
                    "{host} is drained ({reason}); heal stops its repair for `{rule}`",
                    host=incident.host,
                    reason=node.reason,
                    rule=incident.rule,
                )
                if node
                else _(
                    "{host} is no longer a Slurm node; heal stops its repair for `{rule}`",
                    host=incident.host,
                    rule=incident.rule,
                )
            )
            context.notify(incident, "left", text)
        context.closed.append(incident)


def _has_open_action(context: _Context, host: str) -> bool:
    return any(
        record.state in OPEN and host in (record.intent.host, record.intent.spare)
        for record in context.past.actions
    )


def _continue_repair(context: _Context, node: HostStatus, incidents: list[Incident]) -> None:
    """Continue the repair of a host: count polls without its faults, then resume it, or choose one action.

    It is resumed once every incident is resolved for HEALTHY_POLLS polls. An action is chosen for a present fault, but
    none after a handoff to an operator.
    """
    counted = [
        replace(incident, healthy_polls=incident.healthy_polls + 1 if _is_resolved(context, incident) else 0)
        for incident in incidents
    ]
    sick = [incident for incident in counted if not incident.healthy_polls and _now(context, incident)]
    if all(incident.healthy_polls >= HEALTHY_POLLS for incident in counted) and not _any_fault(
        context, node.name
    ):
        _cured(context, node, counted)
        return
    handoffs = [incident for incident in counted if "hand-over" in incident.notified_topics]
    if sick and not handoffs:
        acted = _choose_action(context, node, sick)
        counted = [acted.get(incident.rule, incident) for incident in counted]
    context.open += counted


def _cured(context: _Context, node: HostStatus, incidents: list[Incident]) -> None:
    if node.drained and node.holder == "heal":
        context.open += _return(context, node, incidents[0], incidents[1:])
    elif node.holder == "free" and node.state.is_up:
        context.closed += incidents
    else:
        context.open += incidents  # the program that drained it (such as its health check) resumes it


def _return(
    context: _Context, node: HostStatus, primary: Incident, remaining: Iterable[Incident] = ()
) -> tuple[Incident, ...]:
    """Decide to resume the node, unless it was resumed too often, which notifies, or too recently.

    Return the incidents left open: `primary` and `remaining`, or none if `primary` is not in the journal.
    """
    intent = Intent(node.name, primary.rule, "return", _("all checks of the heal rule pass"))
    limit = rate_limit(intent, context.observation, context.past, context.policy)
    if isinstance(limit, Handoff):
        text = _(
            "{host}: {reason}; the host stays drained until an operator resumes it",
            host=node.name,
            reason=limit.reason,
        )
        primary = context.notify(primary, "flaps", text)
    elif limit is None and node.state.is_up:
        context.intents.append((primary, intent))
    return (primary, *remaining) if primary.id else ()


def _choose_action(context: _Context, node: HostStatus, sick: list[Incident]) -> dict[str, Incident]:
    """Choose the cheapest next step for all faults of the host; return the incidents with new notifications, by rule.

    If any fault needs an operator, no action is chosen. A step that must wait for other hosts is only notified. A drain
    counts against the budget.
    """
    changed: dict[str, Incident] = {}
    over = False
    chosen: list[tuple[int, Incident, Intent]] = []
    for sick_incident in sick:
        fault = LadderFault(
            sick_incident,
            context.rules[sick_incident.rule],
            context.active_faults[sick_incident.host, sick_incident.rule],
            node,
        )
        step = next_step(fault, context.observation, context.past, context.policy)
        if _settles(context, node.name) or isinstance(step, Wait):
            continue
        if isinstance(step, Handoff):
            over = True
            text = f"{_why(context, sick_incident)}: {step.reason}. {_(fault.rule.fix)}"
            changed[sick_incident.rule] = context.notify(sick_incident, "hand-over", text)
        elif blocked := _blocked(context, step):
            changed[sick_incident.rule] = context.notify(
                sick_incident, "held-back", f"{_why(context, sick_incident)}: {blocked}"
            )
        else:
            chosen.append((ACTIONS.index(step.action), sick_incident, step))
    if chosen and not over:
        _index, incident, intent = min(chosen, key=lambda choice: (choice[0], choice[1].rule))
        context.intents.append((incident, intent))
        if intent.action == "drain":
            context.budget = context.budget.with_host_out(node.name)
    return changed


def _settles(context: _Context, host: str) -> bool:
    """Return True while the host settles after a disruptive action: services start and register with Slurm."""
    return any(
        record.ended is not None
        and record.intent.action in _SHAKES
        and context.observation.now.seconds_since(record.ended) < context.policy.settle_s
        for record in context.past.on_host(host)
    )


def _blocked(context: _Context, intent: Intent) -> str:
    """Return why an action must wait: many hosts have the fault at once, or a drain exceeds the budget.

    Empty if it may run.
    """
    sick = {host for host, rule in context.active_faults if rule == intent.rule}
    if intent.action in _SPREADS and context.budget.is_common(frozenset(sick)):
        return _(
            "{count} hosts have the same fault at the same time: a common cause is likely; no action",
            count=len(sick),
        )
    if intent.action == "drain" and not context.budget.has(intent.host):
        percent = context.policy.max_unavailable_percent
        return _(
            "heal does not drain the host: {percent}% of the partition's hosts are out of service already",
            percent=percent,
        )
    return ""


def _now(context: _Context, incident: Incident) -> bool:
    return (incident.host, incident.rule) in context.active_faults


def _any_fault(context: _Context, host: str) -> bool:
    return any(name == host for name, _rule in context.active_faults)


def _is_resolved(context: _Context, incident: Incident) -> bool:
    """Return True if this poll would have detected the fault and did not: the rule's proof checks ran and passed."""
    passed = context.observation.passed.get(incident.host)
    if _now(context, incident) or passed is None:
        return False
    return set(context.rules[incident.rule].proof) <= passed


def _why(context: _Context, incident: Incident) -> str:
    findings = context.active_faults.get((incident.host, incident.rule), ())
    text = "; ".join(dict.fromkeys(finding.message or finding.code for finding in findings))[:300]
    return f"{incident.host}: {text or _(context.rules[incident.rule].about)}"
