"""One look's decision: which incidents are open, which are over, what is done, and who is told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from clusterwright.heal.decide.ladder import Fault, HandOver, Wait, held_back, next_step
from clusterwright.heal.decide.notice import Faults, believed, faults, witnesses
from clusterwright.heal.past import OPEN, Incident, Intent, Past, Witness
from clusterwright.heal.policy import Policy
from clusterwright.heal.rule import ACTIONS, Rule
from clusterwright.heal.seen import HostStatus, Seen

FEW = 2  # hosts with one fault at one time are chance; more may have one cause elsewhere


@dataclass(frozen=True, slots=True)
class Room:
    """Hosts by partition, and those of them that are out; spares that wait are neither."""

    members: Mapping[str, frozenset[str]]
    out: frozenset[str]
    percent: int

    @classmethod
    def of(cls, nodes: Iterable[HostStatus], percent: int) -> Room:
        """As Slurm has them."""
        members: dict[str, set[str]] = {}
        taking = [node for node in nodes if node.holder != "spare"]
        for node in taking:
            for partition in node.partitions:
                members.setdefault(partition, set()).add(node.name)
        out = frozenset(node.name for node in taking if node.out)
        return cls({name: frozenset(each) for name, each in members.items()}, out, percent)

    def most(self, partition: str) -> int:
        """One may be out in any case: else the share of a small partition would be none."""
        return max(1, len(self.members[partition]) * self.percent // 100)

    def has(self, host: str) -> bool:
        """True when the host may be out beside those that are."""
        return all(
            len((self.out & members) - {host}) + 1 <= self.most(partition)
            for partition, members in self.members.items()
            if host in members
        )

    def without(self, host: str) -> Room:
        """With that host out as well."""
        return Room(self.members, self.out | {host}, self.percent)

    def is_common(self, hosts: frozenset[str]) -> bool:
        """True when so many hosts of a partition have the same fault that its cause is probably elsewhere."""
        return any(
            len(members & hosts) > max(FEW, self.most(partition))
            for partition, members in self.members.items()
        )


GOOD = 2  # looks in a row at which the fault is gone and its checks pass, before the host takes jobs again
_SHAKES = frozenset({"restart-service", "reapply", "reset-gpu", "reboot"})
_SPREADS = frozenset({"drain", "reapply", "reset-gpu", "reboot", "replace", "requeue"})


@dataclass(frozen=True, slots=True)
class Tell:
    """What a person is told of an incident; `topic` is told once."""

    incident: Incident
    topic: str
    words: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What follows from one look. `incidents` are those that are open after it; a new one has the id 0."""

    incidents: tuple[Incident, ...] = ()
    closed: tuple[Incident, ...] = ()
    intents: tuple[tuple[Incident, Intent], ...] = ()
    tells: tuple[Tell, ...] = ()
    witnesses: tuple[Witness, ...] = ()


@dataclass
class _Course:
    """What is gathered while hosts are gone through, one after another."""

    seen: Seen
    past: Past
    policy: Policy
    rules: Mapping[str, Rule]
    found: Faults
    room: Room
    intents: list[tuple[Incident, Intent]] = field(default_factory=list)
    tells: list[Tell] = field(default_factory=list)
    open: list[Incident] = field(default_factory=list)
    closed: list[Incident] = field(default_factory=list)

    def tell(self, incident: Incident, topic: str, words: str) -> Incident:
        """Once for each topic."""
        if topic in incident.told:
            return incident
        told = replace(incident, told=incident.told | {topic})
        self.tells.append(Tell(told, topic, words))
        return told


def decide(seen: Seen, past: Past, policy: Policy, rules: Iterable[Rule]) -> Decision:
    """Nothing about compute hosts while slurmctld does not answer: it is waited for."""
    known = {rule.name: rule for rule in rules}
    found = faults(seen, known.values())
    told = witnesses(seen, past, found, policy.window_s)
    have = {(one.host, one.rule): one for one in past.incidents}
    new = [
        Incident(0, host, rule, seen.now)
        for host, rule in believed(found, told, known)
        if (host, rule) not in have
    ]
    course = _Course(seen, past, policy, known, found, Room.of(seen.nodes.values(), policy.most_out_percent))
    by_host: dict[str, list[Incident]] = {}
    for incident in (*past.incidents, *new):
        by_host.setdefault(incident.host, []).append(incident)
    for host in sorted(by_host):
        _of_host(course, host, by_host[host])
    for host in sorted(_left_drained(seen, by_host)):
        _of_drained(course, seen.nodes[host])
    return Decision(
        tuple(course.open), tuple(course.closed), tuple(course.intents), tuple(course.tells), told
    )


def _left_drained(seen: Seen, by_host: Iterable[str]) -> set[str]:
    """Hosts that we drained and no incident is open of: one was closed while Slurm did not answer."""
    return {name for name, node in seen.nodes.items() if node.holder == "heal"} - set(by_host)


def _of_drained(course: _Course, node: HostStatus) -> None:
    nothing = Incident(0, node.name, "", course.seen.now)
    if node.name in course.seen.passed and not _any_fault(course, node.name):
        _return(course, node, nothing)


def _of_host(course: _Course, host: str, incidents: list[Incident]) -> None:
    node = course.seen.nodes.get(host)
    if host not in course.policy.hosts or (node is not None and node.holder == "spare"):
        course.open += _only_told(course, incidents)
    elif not course.seen.slurm:
        course.open += [each for each in incidents if each.id]
    elif node is None or node.holder in ("person", "command") or node.state.is_in_maintenance:
        _of_another(course, incidents, node)
    elif node.changing or _under_way(course, host):
        course.open += incidents
    else:
        _of_ours(course, node, incidents)


def _only_told(course: _Course, incidents: list[Incident]) -> list[Incident]:
    """A host that is not Slurm's to drain, the control host first of all: nothing is done to it."""
    kept = []
    for each in incidents:
        if _gone(course, each):
            course.closed.append(each)
        else:
            words = f"{_why(course, each)}. {course.rules[each.rule].tell}"
            kept.append(course.tell(each, "hand-over", words) if _now(course, each) else each)
    return kept


def _of_another(course: _Course, incidents: list[Incident], node: HostStatus | None) -> None:
    """Somebody else has it: what was begun ends here, and is said once."""
    for each in incidents:
        ours = any(deed.incident == each.id for deed in course.past.deeds) and each.id
        if ours:
            who = f"drained for: {node.reason}" if node else "no host of Slurm's any more"
            course.tell(each, "left", f"{each.host} is {who}; its repair for `{each.rule}` ends here")
        course.closed.append(each)


def _under_way(course: _Course, host: str) -> bool:
    return any(
        deed.state in OPEN and host in (deed.intent.host, deed.intent.spare) for deed in course.past.deeds
    )


def _of_ours(course: _Course, node: HostStatus, incidents: list[Incident]) -> None:
    """Cured incidents are counted, the host comes back when all are, else one action is chosen."""
    counted = [replace(each, good=each.good + 1 if _gone(course, each) else 0) for each in incidents]
    sick = [each for each in counted if not each.good and _now(course, each)]
    if all(each.good >= GOOD for each in counted) and not _any_fault(course, node.name):
        _cured(course, node, counted)
        return
    handed = [each for each in counted if "hand-over" in each.told]
    if sick and not handed:
        acted = _act(course, node, sick)
        counted = [acted.get(each.rule, each) for each in counted]
    course.open += counted


def _cured(course: _Course, node: HostStatus, incidents: list[Incident]) -> None:
    if node.drained and node.holder == "heal":
        course.open += _return(course, node, incidents[0], incidents[1:])
    elif node.holder == "free" and node.state.is_up:
        course.closed += incidents
    else:
        course.open += incidents  # who holds it (its health program) lets it go


def _return(
    course: _Course, node: HostStatus, first: Incident, others: Iterable[Incident] = ()
) -> tuple[Incident, ...]:
    """Back to service, unless it came back too often."""
    intent = Intent(node.name, first.rule, "return", "the checks of its rule pass")
    held = held_back(intent, course.seen, course.past, course.policy)
    if isinstance(held, HandOver):
        first = course.tell(first, "flaps", f"{node.name}: {held.why}; it stays drained until a person looks")
    elif held is None and node.state.is_up:
        course.intents.append((first, intent))
    return (first, *others) if first.id else ()


def _act(course: _Course, node: HostStatus, sick: list[Incident]) -> dict[str, Incident]:
    """The cheapest next rung of all that is wrong with the host; what was told of each incident."""
    changed: dict[str, Incident] = {}
    over = False
    chosen: list[tuple[int, Incident, Intent]] = []
    for each in sick:
        fault = Fault(each, course.rules[each.rule], course.found[each.host, each.rule], node)
        step = next_step(fault, course.seen, course.past, course.policy)
        if _settles(course, node.name) or isinstance(step, Wait):
            continue
        if isinstance(step, HandOver):
            over = True
            words = f"{_why(course, each)}: {step.why}. {fault.rule.tell}"
            changed[each.rule] = course.tell(each, "hand-over", words)
        elif blocked := _blocked(course, step):
            changed[each.rule] = course.tell(each, "held-back", f"{_why(course, each)}: {blocked}")
        else:
            chosen.append((ACTIONS.index(step.action), each, step))
    if chosen and not over:
        _, incident, intent = min(chosen, key=lambda one: (one[0], one[1].rule))
        course.intents.append((incident, intent))
        if intent.action == "drain":
            course.room = course.room.without(node.name)
    return changed


def _settles(course: _Course, host: str) -> bool:
    """True while a host comes to itself after what was done: services start, and Slurm hears of it."""
    return any(
        deed.ended is not None
        and deed.intent.action in _SHAKES
        and course.seen.now.since(deed.ended) < course.policy.settle_s
        for deed in course.past.of(host)
    )


def _blocked(course: _Course, intent: Intent) -> str:
    """Why an action that takes hosts away is not done now."""
    sick = {host for host, rule in course.found if rule == intent.rule}
    if intent.action in _SPREADS and course.room.is_common(frozenset(sick)):
        return f"{len(sick)} hosts have the same fault at the same time, so its cause is elsewhere; nothing is done"
    if intent.action == "drain" and not course.room.has(intent.host):
        return f"{course.policy.most_out_percent} % of its partition are out already; it is not drained"
    return ""


def _now(course: _Course, incident: Incident) -> bool:
    return (incident.host, incident.rule) in course.found


def _any_fault(course: _Course, host: str) -> bool:
    return any(name == host for name, _ in course.found)


def _gone(course: _Course, incident: Incident) -> bool:
    """Not seen any more, at a look that would have seen it: the checks of the rule were asked, and pass."""
    passed = course.seen.passed.get(incident.host)
    if _now(course, incident) or passed is None:
        return False
    return set(course.rules[incident.rule].proof) <= passed


def _why(course: _Course, incident: Incident) -> str:
    findings = course.found.get((incident.host, incident.rule), ())
    words = "; ".join(dict.fromkeys(one.words or one.code for one in findings))[:300]
    return f"{incident.host}: {words or course.rules[incident.rule].about}"
