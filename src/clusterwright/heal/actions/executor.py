"""The context of an action (Executor: cluster and connection to its hosts), and its ActionOrder (intent and id)."""

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
from clusterwright.heal.slurm_text import nodes_of
from clusterwright.i18n import _
from clusterwright.slurm import client
from clusterwright.slurm.drain_reasons import HEAL
from clusterwright.slurm.records import Record

RUN_FOLDER = "/run/clusterwright/heal"  # on each host; a reboot must delete it
# One script at a time per host: a script of a killed heal process may still run when the next process starts one.
_LOCKED = f"mkdir -p {RUN_FOLDER} && exec 9>{RUN_FOLDER}/lock && flock -w 30 9 || exit 75\n"
_REASON = 180  # characters; slurmctld stores more, but a reason should be short


@dataclass(frozen=True, slots=True)
class ActionOrder:
    """An intent to execute, with its id in the journal."""

    id: int
    intent: Intent

    @property
    def reason_prefix(self) -> str:
        """The prefix of the drain reason, which identifies this action."""
        return f"{HEAL} #{self.id} "

    def reason(self) -> str:
        """Return the drain reason for Slurm: heal, the id in the journal, the rule and the evidence, cut to fit.

        Characters that a shell or Slurm could interpret become blanks.
        """
        safe_text = "".join(
            sign if sign.isprintable() and sign not in "'\"\\`$" else " " for sign in self.intent.reason
        )
        return f"{self.reason_prefix}{self.intent.rule}: {safe_text}"[:_REASON].rstrip()


@dataclass(frozen=True, slots=True)
class Executor:
    """Runs scripts on hosts for actions; `source` is the path of the cluster file, for reapply."""

    cluster: Cluster
    remote: Remote
    source: str = "cluster.yaml"

    def slurm(self, script: str, *, timeout_s: float = 60) -> CommandResult:
        """Run a shell script on the control host as root; scripts of heal on a host run one at a time."""
        return self.on(self.cluster.control.name, script, timeout_s=timeout_s)

    def on(self, host: str, script: str, *, timeout_s: float = 60) -> CommandResult:
        """Run a shell script on a host as root; scripts of heal on a host run one at a time."""
        command = f"sh -c {shlex.quote(_LOCKED + script)}"
        return Host(self.remote, host).run_root(command, timeout_s=timeout_s)

    def query(self, host: str, script: str, *, timeout_s: float = 30) -> CommandResult:
        """Run a read-only script on a host as root, without the lock of other scripts."""
        command = f"sh -c {shlex.quote(script)}"
        return Host(self.remote, host).run_root(command, timeout_s=timeout_s)

    def node(self, host: str) -> HostStatus | None:
        """Return the node as Slurm reports it now, without jobs; None without an answer or a sound record."""
        result = self.query(self.cluster.control.name, client.line(client.show_nodes([host])))
        return nodes_of(result.out, {}).get(host) if result.ok else None

    def job(self, job: str) -> Record | None:
        """Return Slurm's record of the job, by its id; a record without fields if Slurm no longer has it.

        Raises:
            WrightError: slurmctld does not respond.
        """
        return show_job(self.remote, self.cluster.control.name, job)

    def is_empty(self, host: str) -> bool:
        """Return True if no job, not even a completing one, is on the host, and none can start.

        False if that is unknown.
        """
        node = self.node(host)
        result = self.query(self.cluster.control.name, client.line(client.jobs_on([host])))
        return bool(node and node.out and result.ok and not result.out.strip())


def failed(result: CommandResult) -> str:
    """Return the error of a command in one line; empty if it succeeded."""
    return "" if result.ok else _("exit code {code}: {error}", code=result.code, error=result.last_lines(2))


def unless_changed(host: str, reason: str) -> str:
    """Return shell that exits with 0 if the node's drain reason is no longer `reason`, and with 74 without an answer.

    Reasons are compared as Slurm prints them; an empty one means that the node has none.
    """
    pattern = (
        f"*{shlex.quote(f' Reason={reason}')}*) ;; *) exit 0 ;;" if reason else "*' Reason='*) exit 0 ;;"
    )
    return f"now=$({client.line(client.show_nodes([host]))}) || exit 74\ncase $now in {pattern} esac\n"
