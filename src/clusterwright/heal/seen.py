"""What one look at the cluster has found; values alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from clusterwright.heal.moment import Moment

Source = Literal["check", "health", "slurm", "why"]
# Who holds a host out of service; `free` where nobody does.
Holder = Literal["free", "heal", "health", "hooks", "command", "slurm", "person", "spare"]

OURS = "wright: heal"  # how the reason of a drain of ours begins
SPARE = "wright: spare"
_OUT = frozenset(
    {"DRAIN", "DOWN", "FAIL", "ERROR", "MAINT", "NOT_RESPONDING", "INVALID_REG", "UNKNOWN", "FUTURE"}
)
_BUSY = frozenset(
    {"REBOOT", "REBOOT_REQUESTED", "REBOOT_ISSUED", "POWERING_UP", "POWERING_DOWN", "POWER_DOWN"}
)
_ASLEEP = frozenset({"POWERED_DOWN", "POWERING_DOWN", "POWERING_UP", "POWER_DOWN", "POWER_UP"})


@dataclass(frozen=True, slots=True)
class Node:
    """A host as Slurm has it; `states` are Slurm's words, `holder` is read from the reason."""

    name: str
    states: frozenset[str]
    holder: Holder = "free"
    reason: str = ""
    partitions: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    signed: str = field(default="", compare=False)  # the reason with who and when, as Slurm prints it

    def holding(self, jobs: tuple[str, ...]) -> Node:
        """With these jobs on it."""
        return replace(self, jobs=jobs)

    @property
    def out(self) -> bool:
        """True when no new job starts there, for what reason ever; a host that power saving has off is not out."""
        return bool(self.states & _OUT) and not self.asleep

    @property
    def drained(self) -> bool:
        """True when somebody's word keeps jobs away."""
        return "DRAIN" in self.states

    @property
    def asleep(self) -> bool:
        """True when power saving has it off, or is switching it."""
        return bool(self.states & _ASLEEP)

    @property
    def changing(self) -> bool:
        """True while Slurm boots it or switches it."""
        return bool(self.states & (_BUSY | _ASLEEP))

    @property
    def answers(self) -> bool:
        """True when slurmctld hears its slurmd."""
        return not self.states & {"DOWN", "NOT_RESPONDING", "UNKNOWN"}


@dataclass(frozen=True, slots=True)
class Job:
    """A job that runs or waits; `again` when its user lets Slurm start it anew."""

    id: str
    state: str
    hosts: tuple[str, ...] = ()
    again: bool = False
    excludes: tuple[str, ...] = ()
    restarts: int = 0

    def known(self, *, again: bool, restarts: int) -> Job:
        """With what Slurm says of starting it anew."""
        return replace(self, again=again, restarts=restarts)


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
class Seen:
    """One look. Where slurmctld did not answer, `slurm` is false and nodes and jobs are empty.

    `passed` has, for each host that was checked at this look, the checks that found nothing.
    """

    now: Moment
    slurm: bool = True
    nodes: Mapping[str, Node] = field(default_factory=dict)
    jobs: Mapping[str, Job] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    passed: Mapping[str, frozenset[str]] = field(default_factory=dict)
