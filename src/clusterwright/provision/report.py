"""The report of an apply: changes, notes and errors by host, and folded over hosts with the same ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from clusterwright.config.field import Cost
from clusterwright.config.names import fold
from clusterwright.i18n import _
from clusterwright.onhost.provision.change import Verb
from clusterwright.provision.action import Action

DISTURBING = {Cost.DRAIN, Cost.REBOOT, Cost.REBUILD}


@dataclass(frozen=True, slots=True)
class Change:
    """One change on one host: the resource, what changes, its cost, and whether it was made."""

    id: str
    summary: str
    diff: str
    cost: Cost
    verbs: tuple[Verb, ...]
    applied: bool = False
    drift: str = ""  # the agent's cause: new, found, changed, edited, missing, stopped, hardware or follows

    @property
    def disturbs(self) -> bool:
        """Return True if the change requires a drained host."""
        return self.cost in DISTURBING


@dataclass(frozen=True, slots=True)
class Timing:
    """The seconds of one step on one host; `phase` is check, fetch or apply."""

    phase: str
    step: str
    seconds: float


@dataclass(frozen=True, slots=True)
class HostReport:
    """One host: the changes that are due or made, notes, and the error if one occurred."""

    host: str
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    error: str = ""
    reached: bool = True
    sum: str = ""
    interrupted: bool = False  # the previous apply was interrupted on this host
    job_steps: int = 0  # of running jobs
    reached_at: str = ""  # the host's address of the SSH connection
    reached_port: str = ""  # and its port
    ssh_source: str = ""  # the SSH source address as the host sees it
    seconds: float = 0.0
    fault_domain: Literal["", "host", "change"] = ""  # of the error: this host alone, or the change
    left_out: str = ""  # why the host was skipped although changes are due
    boot: str = ""  # the host's boot ID
    owes: tuple[str, ...] = ()  # changes that were made and wait for a reboot
    unavailable: Mapping[str, str] = field(default_factory=dict)  # package sets, with the reason
    unavailable_ids: tuple[str, ...] = ()  # those packages
    clock_off_s: float = 0.0  # seconds by which the host's clock is ahead of the operator's
    timings: tuple[Timing, ...] = ()
    undoes: tuple[
        tuple[str, str, str, int], ...
    ] = ()  # applies that can be undone: when, source, to, changed

    @property
    def disturbs(self) -> bool:
        """Return True if a change of this host, due or waiting for a reboot, requires it to be drained."""
        return bool(self.owes) or any(change.disturbs for change in self.changes)

    @property
    def reboots(self) -> bool:
        """Return True if a change of this host that is due or made requires a reboot."""
        return bool(self.owes) or any(change.cost is Cost.REBOOT for change in self.changes)

    @property
    def ok(self) -> bool:
        """Return True if the host was checked or skipped on purpose, and has no error."""
        return (self.reached or bool(self.left_out)) and not self.error

    @property
    def restarts(self) -> int:
        """Return the number of running units that the apply has restarted on this host."""
        return sum(change.applied and Verb.RESTART in change.verbs for change in self.changes)


@dataclass(frozen=True, slots=True)
class ChangeReport:
    """The reports of all hosts; `dry` when no change was attempted."""

    hosts: tuple[HostReport, ...]
    dry: bool
    seconds: float = field(default=0.0)

    @property
    def ok(self) -> bool:
        """Return True if every host was reached or skipped on purpose, and none has an error."""
        return all(host.ok for host in self.hosts)

    @property
    def pending(self) -> int:
        """Return the number of changes on all hosts that are due, made ones included."""
        return sum(len(host.changes) for host in self.hosts)

    @property
    def changed(self) -> int:
        """Return the number of changes that were made on all hosts."""
        return sum(change.applied for host in self.hosts for change in host.changes)

    @property
    def restarts(self) -> int:
        """Return the number of running units that were restarted on all hosts."""
        return sum(host.restarts for host in self.hosts)

    def without_timings(self) -> ChangeReport:
        """Return the report without the timings of steps."""
        return replace(self, hosts=tuple(replace(host, timings=()) for host in self.hosts))

    @property
    def unreached(self) -> tuple[str, ...]:
        """Return the hosts that ssh did not reach; skipped hosts are not among them."""
        return tuple(host.host for host in self.hosts if not (host.reached or host.left_out))

    @property
    def failed(self) -> tuple[HostReport, ...]:
        """Return the reports of hosts that have an error although ssh reached them."""
        return tuple(host for host in self.hosts if host.reached and host.error)

    def actions(self) -> tuple[Action, ...]:
        """Return one action for each distinct change, with all hosts that have the change; empty without changes."""
        hosts_by_action: dict[Action, list[str]] = {}
        for host in self.hosts:
            for change in host.changes:
                action = Action(
                    change.id, change.summary, change.verbs, "", change.cost, _undo(change.id), change.diff
                )
                hosts_by_action.setdefault(action, []).append(host.host)
        return tuple(replace(action, hosts=fold(hosts)) for action, hosts in hosts_by_action.items())

    def notes(self) -> tuple[tuple[str, str], ...]:
        """Return the hosts (folded) and text of each distinct note."""
        hosts_by_note: dict[str, list[str]] = {}
        for host in self.hosts:
            for note in host.notes:
                hosts_by_note.setdefault(note, []).append(host.host)
        return tuple((fold(hosts), note) for note, hosts in hosts_by_note.items())

    def draining(self) -> tuple[str, ...]:
        """Return the hosts with running job steps whose changes require a drain."""
        return tuple(host.host for host in self.hosts if host.job_steps and host.disturbs)

    @property
    def left_out(self) -> tuple[HostReport, ...]:
        """Return the reports of hosts that were skipped although changes are due."""
        return tuple(host for host in self.hosts if host.left_out)

    def to_do(self) -> dict[str, HostReport]:
        """Return by name the reached hosts with changes, an interrupted apply to complete, or a pending reboot.

        Failed and skipped hosts are left out.
        """
        return {
            host.host: host
            for host in self.hosts
            if host.ok and not host.left_out and (host.changes or host.interrupted or host.owes)
        }


def _undo(name: str) -> str:
    return (
        _("the previous file is stored under /var/lib/clusterwright/undo")
        if name.startswith(("file:", "gone:"))
        else ""
    )
