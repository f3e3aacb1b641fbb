"""Hosts taken out of Slurm's hands for a change, and given back: never over another person's reason."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from clusterwright.config.cluster import Cluster
from clusterwright.config.names import expand, fold
from clusterwright.edge.clock import Clock
from clusterwright.edge.host import Host
from clusterwright.edge.processes import Done
from clusterwright.edge.slurm import QUEUE, QueuedJob, parse_queue
from clusterwright.edge.ssh import Remote

REASON = "wright: apply"  # how the reason of a drain of ours begins
POLL_S = 5.0
HOLDING = {
    "RUNNING",
    "COMPLETING",
    "SUSPENDED",
    "CONFIGURING",
    "STOPPED",
    "SIGNALING",
    "STAGE_OUT",
    "RESIZING",
}
SINFO = "sinfo --noheader --Node --format='%N|%T|%E'"

# What slurmctld gives as its reason when a host registers with less than slurm.conf says (validate_node_specs and
# gres_node_config_validate of its source). While files change host by host, that may be true for a moment.
MISMATCH = re.compile(
    r"gres/\S+ count|Invalid GRES|Low (socket|CPUs|RealMemory|TmpDisk)|Could not unpack gres"
)
SETTLE_S, LOOK_S = 20.0, 1.0  # a slurmd that was restarted registers within a second or two

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Node:
    """One host as Slurm has it."""

    state: str
    reason: str

    @property
    def drained(self) -> bool:
        """True when no new job starts there."""
        return self.state.startswith(("drain", "down"))

    @property
    def ours(self) -> bool:
        """True when an apply of ours drained it, this one or one before that was cut short."""
        return self.state.startswith("drain") and self.reason.startswith(REASON)

    @property
    def mismatched(self) -> bool:
        """True when Slurm itself took it out, because it had less than its files say."""
        return bool(MISMATCH.match(self.reason))


def parse_nodes(text: str) -> dict[str, Node]:
    """The hosts of `sinfo` in our columns; the reason comes last, because a person wrote it."""
    rows = [line.split("|", 2) for line in text.splitlines() if line.count("|") > 1]
    return {name.strip(): Node(state.strip(), reason.strip()) for name, state, reason in rows}


def jobs_on(jobs: Iterable[QueuedJob]) -> dict[str, list[str]]:
    """Ids of the jobs that hold each host, those that are just ending too."""
    found: dict[str, list[str]] = {}
    for job in jobs:
        if job.state in HOLDING and job.hosts:
            for host in expand(job.hosts):
                found.setdefault(host, []).append(job.job_id)
    return found


@dataclass(slots=True)
class Drains:
    """What is drained for one apply, by the commands of the control host."""

    cluster: Cluster
    remote: Remote
    clock: Clock
    wait_s: float
    say: Say
    when: str
    _waited: float = field(default=0.0)

    def _run(self, command: str) -> Done:
        return Host(self.remote, self.cluster.control.name).run_root(command)

    def busy(self) -> dict[str, list[str]] | None:
        """Jobs by host; None where slurmctld does not answer: that is not the same as no jobs."""
        done = self._run(QUEUE)
        return jobs_on(parse_queue(done.out)) if done.ok else None

    def drain(self, hosts: Iterable[str]) -> dict[str, str]:
        """No new job starts on these hosts; those where that could not be done, and why."""
        nodes = parse_nodes(self._run(SINFO).out)
        wanted = [host for host in hosts if host in nodes and not nodes[host].drained]
        if not wanted:
            return dict.fromkeys(hosts, "Slurm does not answer") if not nodes else {}
        reason = shlex.quote(f"{REASON} {self.when}")
        done = self._run(f"scontrol update NodeName={fold(wanted)} State=DRAIN Reason={reason}")
        if not done.ok:
            return dict.fromkeys(wanted, f"it could not be drained: {done.last_lines(2)}")
        self.say(f"{fold(wanted)}: drained, no new job starts there")
        return {}

    def wait(self, hosts: list[str]) -> dict[str, list[str]]:
        """Until no job is on any of these, or the time is over: the jobs that are still there, by host."""
        told: dict[str, list[str]] = {}
        while True:
            busy = self.busy()
            still = {
                host: ["?"] if busy is None else busy[host] for host in hosts if busy is None or host in busy
            }
            if not still or self._waited >= self.wait_s:
                return still
            if still != told:
                told = still
                jobs = sorted({job for ids in still.values() for job in ids})
                self.say(f"{fold(list(still))}: waiting for jobs {', '.join(jobs)}")
            self.clock.sleep(POLL_S)
            self._waited += POLL_S

    def resume(self, hosts: Iterable[str]) -> tuple[str, ...]:
        """Those of these hosts that we drained, now or in an apply that was cut short, take jobs again."""
        nodes = parse_nodes(self._run(SINFO).out)
        wanted = [host for host in hosts if host in nodes and nodes[host].ours]
        if wanted:
            done = self._run(f"scontrol update NodeName={fold(wanted)} State=RESUME")
            self.say(
                f"{fold(wanted)}: {'back in service' if done.ok else f'not resumed: {done.last_lines(2)}'}"
            )
        return tuple(wanted)

    def held(self) -> frozenset[str]:
        """Hosts that a person keeps out of service."""
        nodes = parse_nodes(self._run(SINFO).out)
        return frozenset(
            name for name, node in nodes.items() if node.drained and not node.ours and not node.mismatched
        )

    def settle(self, hosts: list[str], held: frozenset[str]) -> dict[str, str]:
        """Hosts whose slurmd has new files are in service again; those that Slurm still refuses, with its reason.

        slurmctld had the new files before them, and takes a host out that registers with less than it expects.
        """
        end = self.clock.monotonic() + SETTLE_S
        while True:
            nodes = parse_nodes(self._run(SINFO).out)
            refused = {
                host: nodes[host] for host in hosts if host in nodes and nodes[host].state.startswith("inval")
            }
            if not refused or self.clock.monotonic() >= end:
                break
            self.clock.sleep(LOOK_S)
        out = [host for host in hosts if host in nodes and nodes[host].drained and nodes[host].mismatched]
        back = [host for host in out if host not in held and host not in refused]
        if back:
            self._run(f"scontrol update NodeName={fold(back)} State=RESUME")
            self.say(f"{fold(back)}: Slurm had the new files first and took it out; back in service")
        return {host: f"Slurm refuses it: {node.reason}" for host, node in refused.items()}
