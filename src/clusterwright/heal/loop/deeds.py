"""An intent is written down, done, and seen to its end; what a killed loop has left is taken up where it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from clusterwright.errors import WrightError
from clusterwright.heal.act import Hands, Order, action
from clusterwright.heal.journal import Entry, Journal
from clusterwright.heal.moment import Moment
from clusterwright.heal.past import Deed, Intent, Past
from clusterwright.heal.policy import Policy

Now = Callable[[], Moment]
# What a killed loop has started on a host goes on there for a while. Only then is it known that nothing was done.
ORPHAN_S = 150.0
_SAID = 300


@dataclass(frozen=True, slots=True)
class Deeds:
    """Does what is decided; `wall` is the time of day for people, and decides nothing."""

    journal: Journal
    hands: Hands
    policy: Policy
    now: Now
    wall: Callable[[], float]
    say: Callable[[str], None]
    orphan_s: float = ORPHAN_S

    def take(self, incident: int, intent: Intent, past: Past) -> None:
        """Proposed once where it is not allowed or a person has to say so; else done."""
        waiting = next((deed for deed in past.deeds if _waits(deed, intent)), None)
        if waiting and waiting.state == "approved":
            self._do(waiting.id, incident, intent)
        elif self.policy.may(intent.action) and not self.policy.asks:
            self._do(waiting.id if waiting else None, incident, intent)
        elif waiting is None:
            id_ = self.journal.write(incident, intent, "proposed", self.now(), wall=self.wall(), before={})
            self.say(f"#{id_} proposed: {line(intent)}")

    def _do(self, known: int | None, incident: int, intent: Intent) -> None:
        """What is true before it is asked first; then it is written down; then it is done."""
        id_ = known or self.journal.write(
            incident, intent, "proposed", self.now(), wall=self.wall(), before={}
        )
        order, how = Order(id_, intent), action(intent.action)
        try:
            given = how.before(order, self.hands)
        except WrightError as why:
            self._end(id_, "failed", str(why), intent)
            return
        if given is None:
            self._end(id_, "stale", "what it was for has changed meanwhile", intent)
            return
        self.journal.begin(id_, self.now(), self.wall(), given)
        try:
            said = how.act(order, given, self.hands)
        except WrightError as why:
            said = str(why)
        if said:
            self._end(id_, "failed", said, intent)
            return
        self.journal.mark(id_, "acted", self.now(), wall=self.wall())
        self.say(f"#{id_} {line(intent)}")

    def settle(self) -> None:
        """What was begun and has no end is asked after: it has happened, it never will, or it is waited for."""
        for entry in self.journal.entries("begun", "acted"):
            try:
                done = action(entry.deed.intent.action).happened(
                    Order(entry.deed.id, entry.deed.intent), entry.before, self.hands
                )
            except WrightError:  # slurmctld or the host is away: asked again at the next look
                done = None
            self._settle(entry, done=done)

    def _settle(self, entry: Entry, *, done: bool | None) -> None:
        deed, age_s = entry.deed, self.now().since(entry.deed.at)
        if done:
            self._end(deed.id, "done", "", deed.intent)
        elif done is False and deed.state == "begun" and age_s >= self.orphan_s:
            self._end(deed.id, "lost", "the loop was ended before it was done", deed.intent)
        elif age_s >= max(self.policy.patience_s, self.orphan_s):
            self._end(deed.id, "failed", "it did not come about in time", deed.intent)

    def _end(self, id_: int, state: str, said: str, intent: Intent) -> None:
        self.journal.mark(id_, state, self.now(), wall=self.wall(), said=said[:_SAID])  # type: ignore[arg-type]  # (one of State's)
        if said:
            self.say(f"#{id_} {line(intent)}: {state}: {said}")

    def stale(self, wanted: set[tuple[str, ...]], past: Past) -> None:
        """Proposals that are not wanted any more are over."""
        for deed in past.deeds:
            if deed.state in ("proposed", "approved") and deed.intent.key not in wanted:
                self._end(deed.id, "stale", "", deed.intent)


def _waits(deed: Deed, intent: Intent) -> bool:
    return deed.state in ("proposed", "approved") and deed.intent.key == intent.key


def line(intent: Intent) -> str:
    """An intent in a line."""
    of = next((word for word in (intent.unit, intent.job and f"job {intent.job}", intent.spare) if word), "")
    return f"{intent.host}: {intent.action}{f' {of}' if of else ''} ({intent.rule}: {intent.why})"
