"""What an action works with: the cluster, the way to its hosts, and its order."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from clusterwright.config.cluster import Cluster
from clusterwright.edge.host import Host
from clusterwright.edge.processes import CommandResult
from clusterwright.edge.slurm import show_job
from clusterwright.edge.ssh import Remote
from clusterwright.heal.observation import HostStatus
from clusterwright.heal.past import Intent
from clusterwright.heal.slurm_text import node_of
from clusterwright.slurm import client
from clusterwright.slurm.drain_reasons import HEAL
from clusterwright.slurm.records import Record

RUN_FOLDER = "/run/clusterwright/heal"  # on each host: gone with a boot, as it should
# One of ours at a time on a host: what a killed loop has left running, and what its successor does, come one by one.
_LOCKED = f"mkdir -p {RUN_FOLDER} && exec 9>{RUN_FOLDER}/lock && flock -w 30 9 || exit 75\n"
_REASON = 180  # characters; slurmctld keeps more, people read fewer


@dataclass(frozen=True, slots=True)
class Order:
    """An intent with its id in the journal."""

    id: int
    intent: Intent

    @property
    def reason_prefix(self) -> str:
        """How the reason of a drain by this order begins."""
        return f"{HEAL} #{self.id} "

    def reason(self) -> str:
        """What Slurm shows: whose it is, which entry of the journal, which rule, and what was seen."""
        safe_text = "".join(
            sign if sign.isprintable() and sign not in "'\"\\`$" else " " for sign in self.intent.why
        )
        return f"{self.reason_prefix}{self.intent.rule}: {safe_text}"[:_REASON].rstrip()


@dataclass(frozen=True, slots=True)
class Executor:
    """How hosts are reached; `source` is the cluster file's path, for what applies it again."""

    cluster: Cluster
    remote: Remote
    source: str = "cluster.yaml"

    def slurm(self, script: str, *, timeout_s: float = 60) -> CommandResult:
        """A shell script on the control host, as root, alone among ours."""
        return self.on(self.cluster.control.name, script, timeout_s=timeout_s)

    def on(self, host: str, script: str, *, timeout_s: float = 60) -> CommandResult:
        """The same on any host."""
        command = f"sh -c {shlex.quote(_LOCKED + script)}"
        return Host(self.remote, host).run_root(command, timeout_s=timeout_s)

    def query(self, host: str, script: str, *, timeout_s: float = 30) -> CommandResult:
        """A script that changes nothing, and waits for nobody."""
        command = f"sh -c {shlex.quote(script)}"
        return Host(self.remote, host).run_root(command, timeout_s=timeout_s)

    def node(self, host: str) -> HostStatus | None:
        """A host as Slurm has it now; None where Slurm does not answer."""
        result = self.query(self.cluster.control.name, client.line(client.show_nodes([host])))
        return node_of(result.out) if result.ok else None

    def job(self, job: str) -> Record | None:
        """A job as Slurm has it now; empty once it has forgotten it."""
        return show_job(self.remote, self.cluster.control.name, job)

    def is_empty(self, host: str) -> bool:
        """True when no job holds the host, those that just end too, and none can come."""
        node = self.node(host)
        result = self.query(self.cluster.control.name, client.line(client.jobs_on([host])))
        return bool(node and node.out and result.ok and not result.out.strip())


def failed(result: CommandResult) -> str:
    """Why it failed, in a line; nothing where it did not."""
    return "" if result.ok else f"ended with {result.code}: {result.last_lines(2)}"


def unless_changed(host: str, reason: str) -> str:
    """Shell that ends at once where the reason of a host is not this one any more; compared as Slurm prints it."""
    pattern = (
        f"*{shlex.quote(f' Reason={reason}')}*) ;; *) exit 0 ;;" if reason else "*' Reason='*) exit 0 ;;"
    )
    return f"now=$({client.line(client.show_nodes([host]))}) || exit 74\ncase $now in {pattern} esac\n"
