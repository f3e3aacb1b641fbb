"""The loop: one poll, its decision, and its actions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from clusterwright.heal.decide import Decision, decide
from clusterwright.heal.journal import Journal
from clusterwright.heal.loop.action_runner import ActionRunner
from clusterwright.heal.loop.gather import Gatherer, failed_jobs, first_job_of_users
from clusterwright.heal.loop.notifications import send_notification
from clusterwright.heal.observation import Observation
from clusterwright.heal.past import Past
from clusterwright.heal.policy import Policy
from clusterwright.heal.rule import Rule
from clusterwright.i18n import in_language


@dataclass
class Loop:
    """One process of self-healing; everything that must survive the process is in the journal."""

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
        """Run one poll: settle earlier actions, observe, decide, record, act and notify.

        Slurm's reasons, alerts and the journal are English.
        """
        with in_language("en"):
            return self._tick()

    def _tick(self) -> Decision:
        self.runner.settle()
        now = self.runner.now()
        past = self.journal.past(now, self.policy.window_s)
        observation, jobs = self._observe(past)
        self._log_slurm_state(observation)
        decision = decide(observation, past, self.policy, self.rules)
        ids = self.journal.record_poll(decision, jobs, self.runner.wall())
        if observation.slurm:
            self.runner.stale({intent.key for _incident, intent in decision.intents}, past)
            for incident, intent in decision.intents:
                self.runner.handle(ids.get((incident.host, incident.rule), incident.id), intent, past)
            self.runner.settle()
        self._send_notifications()
        return decision

    def observe_all(self) -> Observation:
        """Poll Slurm and check every host now, without diagnosing failed jobs; return what was observed."""
        hosts = [host.name for host in self.gatherer.cluster.hosts()]
        return self.gatherer.observe(self.runner.now(), hosts, (), self.gatherer.slurm())

    def _observe(self, past: Past) -> tuple[Observation, tuple[str, ...]]:
        now = self.runner.now()
        every = [host.name for host in self.gatherer.cluster.hosts()]
        due = self._checked_s is None or now.s - self._checked_s >= self.checks_every_s
        hosts = every if due else self._suspects(past)
        slurm_status = self.gatherer.slurm()
        ended = failed_jobs(slurm_status[1].values()) if slurm_status else ()
        new = frozenset(self.journal.new_jobs(job.id for job in ended))
        jobs = first_job_of_users(job for job in ended if job.id in new)
        observation = self.gatherer.observe(self.runner.now(), hosts, jobs, slurm_status)
        if due:
            self._checked_s = now.s
        for finding in observation.findings:
            if finding.is_claim:
                self.log(
                    f"{finding.host}: job {finding.job} of {finding.user}: {finding.code}: checking the host"
                )
        return observation, jobs

    def _suspects(self, past: Past) -> Iterable[str]:
        """Return hosts with open incidents or unconfirmed evidence, and, if there are any, all spares; sorted."""
        hosts = {incident.host for incident in past.incidents} | {witness.host for witness in past.witnesses}
        return sorted(hosts | set(self.policy.spares if hosts else ()))

    def _log_slurm_state(self, observation: Observation) -> None:
        if observation.slurm == self._is_slurm_down:
            self._is_slurm_down = not observation.slurm
            self.log(
                "slurmctld does not respond: waiting" if self._is_slurm_down else "slurmctld responds again"
            )

    def _send_notifications(self) -> None:
        """Send unsent notifications; failed ones are retried at the next poll; in mode `propose` only log them."""
        if self.policy.mode == "propose":
            self._log_notifications()
            return
        rules = {rule.name: rule for rule in self.rules}
        for notification in self.journal.notifications(unsent=True):
            reason = send_notification(notification, rules, self.runner.executor)
            if reason:
                self.log(f"{notification.host}: cannot send a notification: {reason}")
            else:
                self.journal.confirm_sent(notification.id)
                self.log(f"{notification.host}: notified: {notification.text}")

    def _log_notifications(self) -> None:
        """Log unsent notifications, and mark them as sent: in heal.mode `propose` they go nowhere else."""
        for notification in self.journal.notifications(unsent=True):
            self.log(f"{notification.host}: {notification.text}")
            self.journal.confirm_sent(notification.id)
