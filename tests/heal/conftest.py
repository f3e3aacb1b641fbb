"""A world in memory: hosts, drains, faults and jobs, on which what is decided is done."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from clusterwright.heal.decide import decide
from clusterwright.heal.journal import Journal
from clusterwright.heal.moment import Moment
from clusterwright.heal.observation import FaultFinding, HostStatus, JobStatus, Observation
from clusterwright.heal.policy import Policy
from clusterwright.heal.rule import rules
from clusterwright.slurm.drain_reasons import parse_drain_reason
from clusterwright.slurm.states import parse_node_state

CHECKS = frozenset(name for rule in rules() for name in rule.proof)
# What fixes a fault, by the check that finds it: the others stay until a person has fixed them.
MENDS = {"services": "restart-service", "munge_on_host": "restart-service", "gpus_answer": "reboot"}


@dataclass
class World:
    """Hosts of one partition and a control host; `faults` has the checks that fail, by host."""

    hosts: int = 8
    policy: Policy = field(default_factory=Policy)
    s: float = 10_000.0
    boot: str = "one"
    slurm: bool = True
    nodes: dict = field(default_factory=dict)
    faults: dict = field(default_factory=dict)
    jobs: dict = field(default_factory=dict)
    done: list = field(default_factory=list)
    told: list = field(default_factory=list)
    helps: bool = True  # actions fix what they can fix

    def __post_init__(self):
        """Every host takes jobs."""
        names = [f"n{number}" for number in range(1, self.hosts + 1)]
        self.nodes = {
            name: HostStatus(name, parse_node_state("IDLE"), partitions=("train",)) for name in names
        }
        self.policy = replace(self.policy, hosts=frozenset(names))
        self.journal = Journal(Path(":memory:"))

    @property
    def now(self):
        """The moment."""
        return Moment(self.boot, self.s)

    def hold(self, host, who, reason="because"):
        """Somebody drains it."""
        node = self.nodes[host]
        self.nodes[host] = replace(node, state=parse_node_state("IDLE+DRAIN"), holder=who, reason=reason)

    def free(self, host):
        """Back in service."""
        node = self.nodes[host]
        self.nodes[host] = replace(node, state=parse_node_state("IDLE"), holder="free", reason="")

    def down(self, host):
        """Its power is gone, and Slurm has found out."""
        node = self.nodes[host]
        self.nodes[host] = replace(
            node, state=parse_node_state("DOWN"), holder="slurm", reason="Not responding"
        )
        self.faults.setdefault(host, set()).add("ssh")

    def job(self, id_, *hosts, again=True):
        """A job runs there."""
        self.jobs[id_] = JobStatus(id_, "RUNNING", hosts, can_requeue=again)
        for host in hosts:
            self.nodes[host] = self.nodes[host].holding((*self.nodes[host].jobs, id_))

    def end(self, id_):
        """It has ended."""
        self.jobs.pop(id_, None)
        for host, node in self.nodes.items():
            self.nodes[host] = node.holding(tuple(job for job in node.jobs if job != id_))

    def seen(self, *told):
        """One look at it: every host is checked."""
        findings = [
            FaultFinding(host, "check", check, f"{check} fails")
            for host, checks in sorted(self.faults.items())
            for check in sorted(checks)
        ]
        findings += [
            FaultFinding(node.name, "slurm", parse_drain_reason(node.reason).code, node.reason)
            for node in self.nodes.values()
            if node.holder == "slurm"
        ]
        passed = {host: CHECKS - self.faults.get(host, set()) for host in (*self.nodes, "control")}
        nodes, jobs = (self.nodes, self.jobs) if self.slurm else ({}, {})
        return Observation(self.now, self.slurm, dict(nodes), dict(jobs), (*findings, *told), passed)

    def tick(self, *told, after=60):
        """One look, and what follows from it, at once; the intents."""
        past = self.journal.past(self.now, self.policy.window_s)
        found = decide(self.seen(*told), past, self.policy, rules())
        ids = self.journal.record_poll(found, (), 0.0)
        self.told += found.notifications
        self.before = dict(self.nodes)
        for incident, intent in found.intents:
            if self.policy.may(intent.action):
                id_ = ids.get((incident.host, incident.rule), incident.id)
                deed = self.journal.write(id_, intent, "begun", self.now, wall=0.0, prior={})
                self.make(intent)
                self.journal.set_state(deed, "done", self.now, wall=0.0)
                self.done.append(intent)
        self.s += after
        return tuple(intent for _, intent in found.intents)

    def make(self, intent):
        """What it does to the world."""
        host = intent.host
        if intent.action == "drain":
            self.hold(host, "heal", "wright: heal #1 rule: why")
        elif intent.action == "return":
            self.free(host)
        elif intent.action == "replace":
            self.free(intent.spare)
        elif intent.action == "requeue":
            self.end(intent.job)
        elif self.helps:
            self.faults[host] = {
                check for check in self.faults.get(host, ()) if MENDS.get(check) != intent.action
            }

    def actions(self, host=None):
        """What was done, in order."""
        return [intent.action for intent in self.done if host in (None, intent.host)]


@pytest.fixture(scope="session")
def world():
    """`world(hosts=8, policy=...)`."""
    return World


@pytest.fixture(scope="session")
def acting():
    """`acting(...)` is a policy that may do everything."""

    def make(**changes):
        deeds = (
            "restart-service",
            "drain",
            "reset-gpu",
            "reboot",
            "reapply",
            "replace",
            "requeue",
            "exclude",
        )
        return Policy(**{"mode": "act", "allow": frozenset(deeds), "settle_s": 0.0, **changes})

    return make
