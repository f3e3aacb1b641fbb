"""The loop itself: one look, what follows from it, and when the next is due."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from clusterwright.heal.decide import Decision, decide
from clusterwright.heal.journal import Journal
from clusterwright.heal.loop.deeds import Deeds
from clusterwright.heal.loop.gather import MOST_JOBS, Gatherer, failed_jobs
from clusterwright.heal.loop.tell import tell
from clusterwright.heal.past import Past
from clusterwright.heal.policy import Policy
from clusterwright.heal.rule import Rule
from clusterwright.heal.seen import Seen


@dataclass
class Loop:
    """What one process of it knows; all that must outlive it is in the journal."""

    journal: Journal
    gatherer: Gatherer
    deeds: Deeds
    policy: Policy
    rules: tuple[Rule, ...]
    checks_every_s: float
    say: Callable[[str], None]
    _checked_s: float | None = None
    _away: bool = field(default=False)

    def tick(self) -> Decision:
        """Ends what was begun, looks, writes down what was found, does what follows, and tells whom it must."""
        self.deeds.settle()
        now = self.deeds.now()
        past = self.journal.past(now, self.policy.window_s)
        seen, jobs = self._look(past)
        self._say_whether_slurm_answers(seen)
        found = decide(seen, past, self.policy, self.rules)
        ids = self.journal.look(found, jobs, self.deeds.wall())
        if seen.slurm:
            self.deeds.stale({intent.key for _, intent in found.intents}, past)
            for incident, intent in found.intents:
                self.deeds.take(ids.get((incident.host, incident.rule), incident.id), intent, past)
            self.deeds.settle()
        self._tell()
        return found

    def look_at_all(self) -> Seen:
        """Every host, now; no ended job is looked into."""
        hosts = [host.name for host in self.gatherer.cluster.hosts()]
        return self.gatherer.look(self.deeds.now(), hosts, (), self.gatherer.slurm())

    def _look(self, past: Past) -> tuple[Seen, tuple[str, ...]]:
        now = self.deeds.now()
        every = [host.name for host in self.gatherer.cluster.hosts()]
        due = self._checked_s is None or now.s - self._checked_s >= self.checks_every_s
        hosts = every if due else self._suspects(past)
        found = self.gatherer.slurm()
        ended = failed_jobs(found[1].values()) if found else ()
        jobs = self.journal.new_jobs(ended)[:MOST_JOBS]
        seen = self.gatherer.look(self.deeds.now(), hosts, jobs, found)
        if due:
            self._checked_s = now.s
        return seen, jobs

    def _suspects(self, past: Past) -> Iterable[str]:
        """Hosts with something open, the control host where it is one, and spares that may be needed."""
        hosts = {one.host for one in past.incidents} | {one.host for one in past.witnesses}
        return sorted(hosts | set(self.policy.spares if hosts else ()))

    def _say_whether_slurm_answers(self, seen: Seen) -> None:
        if seen.slurm == self._away:
            self._away = not seen.slurm
            self.say("slurmctld does not answer: waiting" if self._away else "slurmctld answers again")

    def _tell(self) -> None:
        """Whoever cannot be told now is told at a later look."""
        if self.policy.mode == "propose":
            self._only_say()
            return
        rules = {rule.name: rule for rule in self.rules}
        for telling in self.journal.tells(unsent=True):
            why = tell(telling, rules, self.deeds.hands)
            if why:
                self.say(f"{telling.host}: nobody could be told: {why}")
            else:
                self.journal.sent(telling.id)
                self.say(f"{telling.host}: told: {telling.words}")

    def _only_say(self) -> None:
        """With `propose` nothing is written anywhere but here."""
        for telling in self.journal.tells(unsent=True):
            self.say(f"{telling.host}: {telling.words}")
            self.journal.sent(telling.id)
