"""The loop itself: one look, what follows from it, and when the next is due."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from clusterwright.heal.decide import Decision, decide
from clusterwright.heal.journal import Journal
from clusterwright.heal.loop.action_runner import ActionRunner
from clusterwright.heal.loop.gather import MOST_JOBS, Gatherer, failed_jobs
from clusterwright.heal.loop.notifications import send_notification
from clusterwright.heal.observation import Observation
from clusterwright.heal.past import Past
from clusterwright.heal.policy import Policy
from clusterwright.heal.rule import Rule
from clusterwright.i18n import _


@dataclass
class Loop:
    """What one process of it knows; all that must outlive it is in the journal."""

    journal: Journal
    gatherer: Gatherer
    runner: ActionRunner
    policy: Policy
    rules: tuple[Rule, ...]
    checks_every_s: float
    log: Callable[[str], None]
    _checked_s: float | None = None
    _is_slurm_down: bool = field(default=False)

    def tick(self) -> Decision:
        """Ends what was begun, looks, writes down what was found, does what follows, and tells whom it must."""
        self.runner.settle()
        now = self.runner.now()
        past = self.journal.past(now, self.policy.window_s)
        observation, jobs = self._observe(past)
        self._log_slurm_state(observation)
        decision = decide(observation, past, self.policy, self.rules)
        ids = self.journal.record_poll(decision, jobs, self.runner.wall())
        if observation.slurm:
            self.runner.stale({intent.key for _, intent in decision.intents}, past)
            for incident, intent in decision.intents:
                self.runner.handle(ids.get((incident.host, incident.rule), incident.id), intent, past)
            self.runner.settle()
        self._send_notifications()
        return decision

    def observe_all(self) -> Observation:
        """Every host, now; no ended job is looked into."""
        hosts = [host.name for host in self.gatherer.cluster.hosts()]
        return self.gatherer.observe(self.runner.now(), hosts, (), self.gatherer.slurm())

    def _observe(self, past: Past) -> tuple[Observation, tuple[str, ...]]:
        now = self.runner.now()
        every = [host.name for host in self.gatherer.cluster.hosts()]
        due = self._checked_s is None or now.s - self._checked_s >= self.checks_every_s
        hosts = every if due else self._suspects(past)
        slurm_status = self.gatherer.slurm()
        ended = failed_jobs(slurm_status[1].values()) if slurm_status else ()
        jobs = self.journal.new_jobs(ended)[:MOST_JOBS]
        observation = self.gatherer.observe(self.runner.now(), hosts, jobs, slurm_status)
        if due:
            self._checked_s = now.s
        return observation, jobs

    def _suspects(self, past: Past) -> Iterable[str]:
        """Hosts with something open, the control host where it is one, and spares that may be needed."""
        hosts = {incident.host for incident in past.incidents} | {witness.host for witness in past.witnesses}
        return sorted(hosts | set(self.policy.spares if hosts else ()))

    def _log_slurm_state(self, observation: Observation) -> None:
        if observation.slurm == self._is_slurm_down:
            self._is_slurm_down = not observation.slurm
            self.log(
                _("slurmctld does not answer: waiting")
                if self._is_slurm_down
                else _("slurmctld answers again")
            )

    def _send_notifications(self) -> None:
        """Whoever cannot be told now is told at a later look."""
        if self.policy.mode == "propose":
            self._log_notifications()
            return
        rules = {rule.name: rule for rule in self.rules}
        for telling in self.journal.notifications(unsent=True):
            reason = send_notification(telling, rules, self.runner.executor)
            if reason:
                self.log(_("{telling}: nobody could be told: {reason}", telling=telling.host, reason=reason))
            else:
                self.journal.confirm_sent(telling.id)
                self.log(f"{telling.host}: told: {telling.words}")

    def _log_notifications(self) -> None:
        """With `propose` nothing is written anywhere but here."""
        for telling in self.journal.notifications(unsent=True):
            self.log(f"{telling.host}: {telling.words}")
            self.journal.confirm_sent(telling.id)
