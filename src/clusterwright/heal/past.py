"""What was seen and done before, as the journal has it; values alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clusterwright.heal.moment import Moment

# proposed: waits for a person's word; begun: written down, and perhaps done; acted: done, and what comes of it is
# waited for; lost: the loop was killed before it did it.
State = Literal["proposed", "approved", "begun", "acted", "done", "failed", "lost", "stale", "undone"]
OPEN: frozenset[str] = frozenset({"begun", "acted"})
COUNTS: frozenset[str] = frozenset({"begun", "acted", "done", "failed", "undone"})


@dataclass(frozen=True, slots=True)
class Intent:
    """What is wanted: one action on one host (or on a job of it), by which rule, and on which evidence."""

    host: str
    rule: str
    action: str
    why: str = ""
    unit: str = ""  # of restart-service
    job: str = ""  # of requeue and exclude
    spare: str = ""  # of replace

    @property
    def key(self) -> tuple[str, ...]:
        """Two of one key are the same action."""
        return (self.host, self.action, self.unit, self.job, self.spare)


@dataclass(frozen=True, slots=True)
class ActionRecord:
    """An intent in the journal; `time` is when it was written down, `ended` when it came to its end."""

    id: int
    incident: int
    intent: Intent
    state: State
    time: Moment
    ended: Moment | None = None


@dataclass(frozen=True, slots=True)
class Incident:
    """A fault of one host by one rule, from its confirmation to its cure; `good` looks in a row found it gone.

    `told` has what a person was told of it: each is told once.
    """

    id: int
    host: str
    rule: str
    opened: Moment
    good: int = 0
    told: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Witness:
    """Who has told of a fault that is not confirmed yet, and how many looks in a row."""

    host: str
    rule: str
    source: str
    key: str
    count: int
    time: Moment


@dataclass(frozen=True, slots=True)
class Past:
    """All of it that still counts."""

    incidents: tuple[Incident, ...] = ()
    actions: tuple[ActionRecord, ...] = ()
    witnesses: tuple[Witness, ...] = ()

    def on_host(self, host: str) -> tuple[ActionRecord, ...]:
        """Deeds on that host, the oldest first."""
        return tuple(record for record in self.actions if record.intent.host == host)
