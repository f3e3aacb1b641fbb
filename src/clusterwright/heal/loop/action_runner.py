"""Record an intent, run its action and track it to its end; resume the actions of a killed process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from clusterwright.errors import WrightError
from clusterwright.heal.actions import ActionOrder, Executor, action
from clusterwright.heal.journal import Entry, Journal
from clusterwright.heal.moment import Moment
from clusterwright.heal.past import ActionRecord, Intent, Past
from clusterwright.heal.policy import Policy

Now = Callable[[], Moment]
# Seconds after which an action whose process was killed counts as lost; its script may still run on the host until
# then.
ORPHAN_S = 150.0
_ERROR_LENGTH = 300


@dataclass(frozen=True, slots=True)
class ActionRunner:
    """Runs the actions that were decided; `wall` returns the time of day, for display only."""

    journal: Journal
    executor: Executor
    policy: Policy
    now: Now
    wall: Callable[[], float]
    log: Callable[[str], None]
    orphan_s: float = ORPHAN_S

    def handle(self, incident: int, intent: Intent, past: Past) -> None:
        """Run the intent if it is approved, or allowed without approval; else record it once as a proposal.

        A proposal is written to the journal, and not again while one waits.
        """
        waiting = next((record for record in past.actions if _waits(record, intent)), None)
        if waiting and waiting.state == "approved":
            self._do(waiting.id, incident, intent)
        elif self.policy.may(intent.action) and not self.policy.needs_approval:
            self._do(waiting.id if waiting else None, incident, intent)
        elif waiting is None:
            id_ = self.journal.write(incident, intent, "proposed", self.now(), wall=self.wall(), prior={})
            self.log(f"#{id_} proposed: {line(intent)}")

    def _do(self, action_id: int | None, incident: int, intent: Intent) -> None:
        """Read the prior state, record the intent as begun, execute the action, and record it as acted.

        On an error it ends as failed, and as stale if it no longer applies. `action_id`: the proposal's; None: a new
        one is recorded.
        """
        id_ = action_id or self.journal.write(
            incident, intent, "proposed", self.now(), wall=self.wall(), prior={}
        )
        order, how = ActionOrder(id_, intent), action(intent.action)
        try:
            prior = how.prepare(order, self.executor)
        except WrightError as reason:
            self._end(id_, "failed", str(reason), intent)
            return
        if prior is None:
            self._end(id_, "stale", "the state of the host changed meanwhile", intent)
            return
        self.journal.begin(id_, self.now(), self.wall(), prior)
        try:
            error = how.execute(order, prior, self.executor)
        except WrightError as reason:
            error = str(reason)
        if error:
            self._end(id_, "failed", error, intent)
            return
        self.journal.set_state(id_, "acted", self.now(), wall=self.wall())
        self.log(f"#{id_} {line(intent)}")

    def settle(self) -> None:
        """Query the result of every begun action: one that happened is done, others are lost or failed after a limit.

        Until that time limit they stay as they are.
        """
        for entry in self.journal.entries("begun", "acted"):
            try:
                outcome = action(entry.record.intent.action).happened(
                    ActionOrder(entry.record.id, entry.record.intent), entry.prior_state, self.executor
                )
            except WrightError:  # slurmctld or the host does not respond: the next poll queries again
                outcome = None
            self._settle(entry, outcome=outcome)

    def _settle(self, entry: Entry, *, outcome: bool | None) -> None:
        record, age_s = entry.record, self.now().seconds_since(entry.record.time)
        if outcome:
            self._end(record.id, "done", "", record.intent)
        elif outcome is False and record.state == "begun" and age_s >= self.orphan_s:
            self._end(record.id, "lost", "heal was stopped before the action ran", record.intent)
        elif age_s >= max(self.policy.action_timeout_s, self.orphan_s):
            self._end(record.id, "failed", "the action had no effect in time", record.intent)

    def _end(self, id_: int, state: str, error: str, intent: Intent) -> None:
        self.journal.set_state(id_, state, self.now(), wall=self.wall(), error=error[:_ERROR_LENGTH])  # type: ignore[arg-type]  # (a State)
        if error:
            self.log(f"#{id_} {line(intent)}: {state}: {error}")

    def stale(self, intent_keys: set[tuple[str, ...]], past: Past) -> None:
        """End as stale the proposals, approved ones included, whose intent is not among `intent_keys`."""
        for record in past.actions:
            if record.state in ("proposed", "approved") and record.intent.key not in intent_keys:
                self._end(record.id, "stale", "", record.intent)


def _waits(record: ActionRecord, intent: Intent) -> bool:
    return record.state in ("proposed", "approved") and record.intent.key == intent.key


def line(intent: Intent) -> str:
    """Format an intent as one line for logs: `HOST: ACTION UNIT (RULE: REASON)`.

    In place of the unit stands the job or the spare host; nothing if there is none.
    """
    subject = next(
        (name for name in (intent.unit, intent.job and f"job {intent.job}", intent.spare) if name), ""
    )
    return (
        f"{intent.host}: {intent.action}{f' {subject}' if subject else ''} ({intent.rule}: {intent.reason})"
    )
