"""What one look at the cluster has found; values alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from clusterwright.heal.moment import Moment
from clusterwright.slurm.states import NodeState

Source = Literal["check", "health", "slurm", "why"]


@dataclass(frozen=True, slots=True)
class HostStatus:
    """A host as Slurm has it; `holder` is read from the reason."""

    name: str
    state: NodeState
    holder: str = "free"  # who holds it out of service: heal, health, hooks, command, slurm, person, spare
    reason: str = ""
    partitions: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    signed: str = field(default="", compare=False)  # the reason with who and when, as Slurm prints it

    def holding(self, jobs: tuple[str, ...]) -> HostStatus:
        """With these jobs on it."""
        return replace(self, jobs=jobs)

    @property
    def out(self) -> bool:
        """True when no new job starts there, for what reason ever; a host that power saving has off is not out."""
        return not (self.state.is_available or self.state.is_power_saving)

    @property
    def drained(self) -> bool:
        """True when somebody's word keeps jobs away."""
        return self.state.is_drained

    @property
    def changing(self) -> bool:
        """True while Slurm boots it or switches it."""
        return self.state.is_rebooting or self.state.is_power_saving


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A job that runs or waits; `can_requeue` when its user lets Slurm start it anew."""

    id: str
    state: str
    hosts: tuple[str, ...] = ()
    can_requeue: bool = False
    excludes: tuple[str, ...] = ()
    restarts: int = 0

    def with_requeue(self, *, can_requeue: bool, restarts: int) -> JobStatus:
        """With what Slurm says of starting it anew."""
        return replace(self, can_requeue=can_requeue, restarts=restarts)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a host: who says so, by which of its names, and in which words.

    `job` is the job whose end told of it: one job is one witness, however often it is looked at.
    """

    host: str
    source: Source
    code: str
    words: str = ""
    part: str = ""
    job: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """One look. Where slurmctld did not answer, `slurm` is false and nodes and jobs are empty.

    `passed` has, for each host that was checked at this look, the checks that found nothing.
    """

    now: Moment
    slurm: bool = True
    nodes: Mapping[str, HostStatus] = field(default_factory=dict)
    jobs: Mapping[str, JobStatus] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    passed: Mapping[str, frozenset[str]] = field(default_factory=dict)
