"""The history of the journal that decisions use, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clusterwright.heal.moment import Moment

# proposed: waits for approval; begun: recorded, perhaps executed; acted: executed, its effect is not verified yet;
# lost: heal was killed before it executed the action.
State = Literal["proposed", "approved", "begun", "acted", "done", "failed", "lost", "stale", "undone"]
OPEN: frozenset[str] = frozenset({"begun", "acted"})
COUNTS: frozenset[str] = frozenset({"begun", "acted", "done", "failed", "undone"})


@dataclass(frozen=True, slots=True)
class Intent:
    """A decided action on one host (or on a job of it), with its rule and evidence."""

    host: str
    rule: str
    action: str
    reason: str = ""
    unit: str = ""  # of restart-service
    job: str = ""  # of requeue and exclude
    spare: str = ""  # of replace

    @property
    def key(self) -> tuple[str, ...]:
        """Key of the intent; two intents of one action on one host, unit, job and spare have equal keys."""
        return (self.host, self.action, self.unit, self.job, self.spare)


@dataclass(frozen=True, slots=True)
class ActionRecord:
    """An intent in the journal; `time` is when it was recorded, `ended` when it reached a final state."""

    id: int
    incident: int
    intent: Intent
    state: State
    time: Moment
    ended: Moment | None = None


@dataclass(frozen=True, slots=True)
class Incident:
    """A fault of one host under one rule, from confirmation to recovery.

    `healthy_polls` counts consecutive healthy polls. `notified_topics`: topics of sent notifications, each sent once.
    """

    id: int
    host: str
    rule: str
    opened: Moment
    healthy_polls: int = 0
    notified_topics: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Witness:
    """One piece of evidence of an unconfirmed fault: its source, and its number of consecutive polls.

    `key` is the user of a claim, else empty.
    """

    host: str
    rule: str
    source: str
    key: str
    count: int
    time: Moment


@dataclass(frozen=True, slots=True)
class Past:
    """The open incidents, recent actions and witnesses."""

    incidents: tuple[Incident, ...] = ()
    actions: tuple[ActionRecord, ...] = ()
    witnesses: tuple[Witness, ...] = ()

    def on_host(self, host: str) -> tuple[ActionRecord, ...]:
        """Return the recorded actions on a host, oldest first."""
        return tuple(record for record in self.actions if record.intent.host == host)
