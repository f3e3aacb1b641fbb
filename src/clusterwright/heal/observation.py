"""The result of one poll of the cluster, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from clusterwright.heal.moment import Moment
from clusterwright.slurm.states import NodeState

Source = Literal["check", "health", "slurm", "diagnosis"]


@dataclass(frozen=True, slots=True)
class HostStatus:
    """A node as Slurm reports it; `holder` is derived from the drain reason."""

    name: str
    state: NodeState
    holder: str = "free"  # what drained it: heal, health, hooks, command, slurm, person, spare
    reason: str = ""
    partitions: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    signed: str = field(default="", compare=False)  # the reason with user and time, as Slurm prints it

    def holding(self, jobs: tuple[str, ...]) -> HostStatus:
        """Return a copy of the status with these allocated jobs."""
        return replace(self, jobs=jobs)

    @property
    def out(self) -> bool:
        """True if no new job can start on the node; one in power saving counts only if drained and powered down."""
        at_rest = self.state.is_power_saving and not (self.state.is_drained and self.state.is_powered_down)
        return not (at_rest or self.state.is_available)

    @property
    def drained(self) -> bool:
        """True if the node is drained."""
        return self.state.is_drained

    @property
    def changing(self) -> bool:
        """True while Slurm reboots the node, or powers it up or down."""
        return self.state.is_rebooting or self.state.is_power_saving


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A running or pending job; `can_requeue` if it was submitted with --requeue."""

    id: str
    state: str
    hosts: tuple[str, ...] = ()
    can_requeue: bool = False
    excludes: tuple[str, ...] = ()
    restarts: int = 0
    user: str = ""

    def with_requeue(self, *, can_requeue: bool, restarts: int) -> JobStatus:
        """Return a copy with the requeue settings of Slurm's record."""
        return replace(self, can_requeue=can_requeue, restarts=restarts)


@dataclass(frozen=True, slots=True)
class FaultFinding:
    """One fault of a host: its source, the source's code, and a description.

    A diagnosis of a failed job (`job`, of `user`) rests on lines and events that the user could have written: it is a
    claim, which never counts as a fault.
    """

    host: str
    source: Source
    code: str
    message: str = ""
    part: str = ""
    job: str = ""
    user: str = ""

    @property
    def is_claim(self) -> bool:
        """True if a user could have made it up: it is neither read on the host as root nor from Slurm."""
        return self.source == "diagnosis"


@dataclass(frozen=True, slots=True)
class Observation:
    """One poll. If slurmctld did not respond, `slurm` is False and nodes and jobs are empty.

    `passed` maps each host that was checked in this poll to its passed checks.
    """

    now: Moment
    slurm: bool = True
    nodes: Mapping[str, HostStatus] = field(default_factory=dict)
    jobs: Mapping[str, JobStatus] = field(default_factory=dict)
    findings: tuple[FaultFinding, ...] = ()
    passed: Mapping[str, frozenset[str]] = field(default_factory=dict)
