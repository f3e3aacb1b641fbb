"""What an apply found and did, host by host, and the same folded for reading."""

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
    """One change on one host."""

    id: str
    what: str
    diff: str
    cost: Cost
    verbs: tuple[Verb, ...]
    done: bool = False
    drift: str = (
        ""  # why, in a word of the agent's: new, found, changed, edited, missing, stopped, hardware, follows
    )

    @property
    def disturbs(self) -> bool:
        """True when it wants a host on which no job runs."""
        return self.cost in DISTURBING


@dataclass(frozen=True, slots=True)
class Timing:
    """The seconds of one step on one host; `phase` is check, fetch or apply."""

    phase: str
    step: str
    seconds: float


@dataclass(frozen=True, slots=True)
class HostReport:
    """One host: what it needs, what was done, and what went wrong there, if anything."""

    host: str
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    error: str = ""
    reached: bool = True
    sum: str = ""
    interrupted: bool = False  # an apply before this one was cut short here
    job_steps: int = 0  # of running jobs
    reached_at: str = ""  # the address by which ssh came
    reached_port: str = ""  # and the port
    came_from: str = ""  # and whence, as the host sees it
    seconds: float = 0.0
    blame: Literal["", "host", "change"] = ""  # whose fault the error is: this host's alone, or the change's
    left_out: str = ""  # why nothing was begun here, although changes are wanted
    boot: str = ""  # the host's boot id
    owes: tuple[str, ...] = ()  # changes that were made there and wait for a reboot
    lost: Mapping[str, str] = field(
        default_factory=dict
    )  # sets of packages that cannot be had there, and why
    lost_ids: tuple[str, ...] = ()  # those packages
    clock_off_s: float = 0.0  # ahead of the clock of the machine that applies
    timings: tuple[Timing, ...] = ()
    undoes: tuple[
        tuple[str, str, str, int], ...
    ] = ()  # applies that can be undone: when, source, to, changed

    @property
    def disturbs(self) -> bool:
        """True when a change here wants a host on which no job runs."""
        return bool(self.owes) or any(change.disturbs for change in self.changes)

    @property
    def reboots(self) -> bool:
        """True when the host is to be rebooted: for a change that is shown, or for one that was made."""
        return bool(self.owes) or any(change.cost is Cost.REBOOT for change in self.changes)

    @property
    def ok(self) -> bool:
        """True when the host is as wanted, or would be after the changes, or was not asked for a reason."""
        return (self.reached or bool(self.left_out)) and not self.error

    @property
    def restarts(self) -> int:
        """Units that were running and were started anew."""
        return sum(change.done and Verb.RESTART in change.verbs for change in self.changes)


@dataclass(frozen=True, slots=True)
class Report:
    """All hosts. `dry` when nothing was to be done."""

    hosts: tuple[HostReport, ...]
    dry: bool
    seconds: float = field(default=0.0)

    @property
    def ok(self) -> bool:
        """True when every host was reached and nothing failed."""
        return all(host.ok for host in self.hosts)

    @property
    def pending(self) -> int:
        """Changes wanted."""
        return sum(len(host.changes) for host in self.hosts)

    @property
    def changed(self) -> int:
        """Changes made."""
        return sum(change.done for host in self.hosts for change in host.changes)

    @property
    def restarts(self) -> int:
        """Units that were running and were started anew."""
        return sum(host.restarts for host in self.hosts)

    def without_timings(self) -> Report:
        """The same without the seconds of each step."""
        return replace(self, hosts=tuple(replace(host, timings=()) for host in self.hosts))

    @property
    def unreached(self) -> tuple[str, ...]:
        """Hosts that ssh did not reach."""
        return tuple(host.host for host in self.hosts if not (host.reached or host.left_out))

    @property
    def failed(self) -> tuple[HostReport, ...]:
        """Hosts that were reached and where something went wrong."""
        return tuple(host for host in self.hosts if host.reached and host.error)

    def actions(self) -> tuple[Action, ...]:
        """One for each distinct change, with all the hosts that it is for."""
        hosts_by_action: dict[Action, list[str]] = {}
        for host in self.hosts:
            for change in host.changes:
                action = Action(
                    change.id, change.what, change.verbs, "", change.cost, _undo(change.id), change.diff
                )
                hosts_by_action.setdefault(action, []).append(host.host)
        return tuple(replace(action, hosts=fold(hosts)) for action, hosts in hosts_by_action.items())

    def notes(self) -> tuple[tuple[str, str], ...]:
        """Each distinct note with all its hosts."""
        hosts_by_note: dict[str, list[str]] = {}
        for host in self.hosts:
            for note in host.notes:
                hosts_by_note.setdefault(note, []).append(host.host)
        return tuple((fold(hosts), note) for note, hosts in hosts_by_note.items())

    def draining(self) -> tuple[str, ...]:
        """Hosts where a change wants the host drained while jobs run on it."""
        return tuple(host.host for host in self.hosts if host.job_steps and host.disturbs)

    @property
    def left_out(self) -> tuple[HostReport, ...]:
        """Hosts where changes are wanted and nothing was begun, each with its reason."""
        return tuple(host for host in self.hosts if host.left_out)

    def to_do(self) -> dict[str, HostReport]:
        """Hosts that were reached and need something; what was cut short, or waits for a reboot, is ended there too."""
        return {
            host.host: host
            for host in self.hosts
            if host.ok and not host.left_out and (host.changes or host.interrupted or host.owes)
        }


def _undo(name: str) -> str:
    return (
        _("the previous file is kept under /var/lib/clusterwright/undo")
        if name.startswith(("file:", "gone:"))
        else ""
    )
