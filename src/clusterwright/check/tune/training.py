"""Tune settings of a training on the hosts of one job: its own program runs some steps each time."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from clusterwright.check.bench.kinds.collectives import plan_of
from clusterwright.check.bench.site import BenchSite, port
from clusterwright.check.bench.stage import StageAnswer, StagedPart
from clusterwright.check.tune import of_training
from clusterwright.check.tune.knobs import Knob, KnobSettings, chosen
from clusterwright.check.tune.trials import Budget, Trials, Tuned, format_measurement
from clusterwright.check.tune.written import OF_JOB, with_settings
from clusterwright.config.job import Job
from clusterwright.config.load import job_of
from clusterwright.config.reader import read
from clusterwright.i18n import _
from clusterwright.plan.gradients import ENOUGH, Training, advised

SKIPPED = 3  # steps: caches and loader workers fill, torch chooses its kernels


@dataclass(frozen=True, slots=True)
class Subject:
    """A training: the job file's text, and a function from a job to the shell script of a rank."""

    text: str
    script: Callable[[Job], str]
    steps: int = 20
    limit_s: float = 600.0  # of one trial

    @property
    def job(self) -> Job:
        """The job, as the job file declares it without trial settings."""
        return self.with_settings(KnobSettings())

    def with_settings(self, settings: KnobSettings) -> Job:
        """Return the job as the file would declare it with these settings: the trial runs what would be written."""
        return job_of(read(with_settings(self.text, settings, OF_JOB), _("the job file with trial settings")))


def tune_training(
    site: BenchSite, subject: Subject, budget: Budget, names: Sequence[str] = (), *, numbers: bool = False
) -> Tuned:
    """Tune the training's steps a second, with one run of the training for each trial; `names`: only these knobs.

    With `numbers` also by knobs that change numerical results.

    Raises:
        WrightError: It does not run as it is, or there is no such knob.
    """
    job, runs = subject.job, Runs(site, subject)
    _knobs(site, job, runs, names, numbers=numbers)  # rejects unknown names before anything runs
    trials = Trials(runs.measure, lambda value: format_measurement(value, "1/s"), site.log)
    trials.rehearse()
    knobs = _knobs(site, job, runs, names, numbers=numbers)  # now that the CPUs of a host are known
    outcome = trials.search(knobs, budget)
    rates = [trial.value for trial in outcome.trials if trial.settings.is_default and trial.value]
    notes = (*_losses(runs, outcome.best), *_network(site, job, runs, rates))
    subject_name = _(
        "job `{job}` on {count} hosts, {steps} steps per trial",
        job=job.name,
        count=len(site.stage.hosts),
        steps=subject.steps,
    )
    return Tuned(subject_name, _("steps per second"), "1/s", knobs, budget, outcome, notes)


def _knobs(site: BenchSite, job: Job, runs: Runs, names: Sequence[str], *, numbers: bool) -> tuple[Knob, ...]:
    """Return the variables and settings to try, each with its values except the current one; `names`: only these.

    With `numbers` also those that change numerical results.
    """
    target = of_training.RunTarget(plan_of(site).backend, runs.interface(site.stage.hosts[0]), runs.cpus)
    variables = {**site.cluster.jobs.variables, **job.environment.variables}
    now = {**of_training.usual(job, target), **variables}
    return chosen(of_training.knobs(job, target), names, now, numbers=numbers)


def _losses(runs: Runs, best: KnobSettings) -> Iterator[str]:
    if best in runs.losses and not best.is_default:
        losses = _(
            "{default:.6g} with the default settings, {tuned:.6g} with {best}",
            default=runs.losses[KnobSettings()],
            best=best,
            tuned=runs.losses[best],
        )
        yield _("loss of the last measured step: {losses}", losses=losses)


def _network(site: BenchSite, job: Job, runs: Runs, rates: Sequence[float]) -> Iterator[str]:
    """Yield advice on the best gradient setting if gradients take over 5% of a step even at line rate, else nothing."""
    if not runs.parameters or not rates or job.nodes == 1:
        return
    rate, step_s = site.network.rate / site.rate_divisor, 1 / statistics.median(rates)
    seconds = Training(4.0 * runs.parameters, step_s, job.nodes, rate / 8).transfer_s()
    compute_s = max(step_s - seconds, step_s / 10)
    best = advised(Training(4.0 * runs.parameters, compute_s, job.nodes, rate / 8))
    if seconds > (1 - ENOUGH) * step_s:
        yield (
            _(
                "gradients take {seconds:.2g} s of a step of {step_s:.2g} s at line rate; "
                "`{setting}` would leave {efficiency:.0%} of a step (cost: {cost}; wright plan "
                "gradients)",
                seconds=seconds,
                step_s=step_s,
                setting=best.method.setting,
                efficiency=best.efficiency,
                cost=best.method.cost,
            )
        )


@dataclass(slots=True)
class Runs:
    """Runs the training, each time at its own ports; stores CPUs, parameters and losses as they become known."""

    site: BenchSite
    subject: Subject
    number: int = 0
    cpus: int = 1  # of a host, as its ranks count them
    parameters: int | None = None  # of the model, as far as reported
    losses: dict[KnobSettings, float] = field(default_factory=dict)

    def measure(self, settings: KnobSettings) -> float | None:
        """Run the training with these settings; return steps a second, by the mean, so that stalls of a loader count.

        None if the run failed, which is logged.
        """
        self.number += 1
        answers = self.site.stage.do(self._parts(self.subject.with_settings(settings)))
        if wrong := {host: answer.reason for host, answer in answers.items() if answer.reason}:
            host, reason = next(iter(wrong.items()))
            self.site.log(f"{host}: {reason}")
            return None
        return self._value(settings, answers)

    def interface(self, host: str) -> str:
        """Return the host's interface on the network for gradients."""
        interface_name: str = self.site.facts[host]["interfaces"].get(self.site.address(host), "")
        return interface_name

    def _parts(self, job: Job) -> dict[str, StagedPart]:
        hosts, ranks_per_host = self.site.stage.hosts, job.gpus_per_node
        shared = {
            "name": f"{self.number:05}",
            "script": self.subject.script(job),
            "workdir": job.environment.workdir or "",
            "address": self.site.address(hosts[0]),
            "port": port(self.number),
            "ranks": len(hosts) * ranks_per_host,
            "ranks_here": ranks_per_host,
            "skip": SKIPPED,
            "steps": self.subject.steps,
        }
        return {
            host: StagedPart(
                "trial",
                {**shared, "first_rank": index * ranks_per_host, "interface": self.interface(host)},
                self.subject.limit_s,
            )
            for index, host in enumerate(hosts)
        }

    def _value(self, settings: KnobSettings, answers: dict[str, StageAnswer]) -> float | None:
        if len(answers) < self.subject.job.nodes:
            return None
        document = answers[self.site.stage.hosts[0]].document
        self.cpus, self.parameters = document["cpus"], document.get("parameters")
        if document["loss"] is None:  # not finite
            self.site.log(_("the loss of the trial is not finite"))
            return None
        self.losses[settings] = document["loss"]
        return len(document["seconds"]) / float(sum(document["seconds"]))
