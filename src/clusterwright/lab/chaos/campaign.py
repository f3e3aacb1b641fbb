"""Run a campaign: one training per fault, and the score of each."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.edge.clock import Clock
from clusterwright.edge.host import Host
from clusterwright.edge.ssh import Remote
from clusterwright.i18n import _
from clusterwright.lab.chaos.fault_injection import Places, inject_fault, places, repair
from clusterwright.lab.chaos.kind import EVERY, PROGRAM, STEPS, Planned, job, job_without_fault
from clusterwright.lab.chaos.score import FaultRecord, Score, judge
from clusterwright.lab.chaos.service import Service
from clusterwright.lab.chaos.training_run import TrainingRun
from clusterwright.lab.chaos.wright import COMMAND, Wright
from clusterwright.lab.demo import event_metrics
from clusterwright.launch.submission import submit

TRAINING_LIMIT_S, NOTICE_LIMIT_S = 300.0, 60.0


@dataclass(slots=True)
class _Injection:
    """One injected fault: where and when, under which training, and the observed outcome."""

    planned: Planned
    training_run: TrainingRun
    placement: Places
    host: str
    time: float
    causes: tuple[str, ...] = ()
    duration_s: float = 0.0
    harmed: tuple[str, ...] = ()
    back_s: float | None = None
    heal_actions: Sequence[Mapping[str, Any]] = field(default=())


@dataclass
class Campaign:
    """A campaign: its cluster, its connections, and the context that all of its faults share."""

    cluster: Cluster
    remote: Remote
    wright: Wright
    clock: Clock
    log: Callable[[str], None]

    def run(self, drawn: Sequence[Planned]) -> Iterator[Score]:
        """Inject each fault, wait for the outcome, and undo it; yield its score as soon as it is known.

        A training without faults runs first, for comparison.
        """
        program = (Path(__file__).parent / "breaks.py").read_bytes()
        Host(self.remote, self.cluster.control.name).run(f"cat > {self._shared}/{PROGRAM}", stdin=program)
        ideal_s = self._undisturbed()
        self.log(_("a training without faults takes {ideal_s:.0f} s", ideal_s=ideal_s))
        for planned in drawn:
            injection = self._inject(planned)
            self._follow(injection)
            self._repair(injection)
            score = judge(planned, self._record(injection, ideal_s), EVERY)
            self.log(f"{planned.number} {planned.kind.name}: {describe(score)}")
            yield score

    def _undisturbed(self) -> float:
        self._service.wait_idle()
        began = self.clock.monotonic()
        self._service.wait_until(
            self._submit(job_without_fault(self._shared, self._user)).over, TRAINING_LIMIT_S
        )
        return self.clock.monotonic() - began

    def _inject(self, planned: Planned) -> _Injection:
        """Start a training and inject the fault at the planned step; return what was injected where and when."""
        self._service.wait_idle()
        began = self.clock.monotonic()
        training_run = self._submit(job(planned.kind, self._shared, self._user, planned.number))
        target_step = planned.progress * STEPS
        self._service.wait_until(
            lambda: training_run.step() >= target_step or training_run.over(), TRAINING_LIMIT_S
        )
        placement = places(self.cluster, training_run.events)
        host, now = placement.host_for(planned.kind.on, planned.which), self.clock.now()
        if not planned.kind.program:
            inject_fault(planned, host, placement, self.cluster, self.remote, training_run)
        return _Injection(planned, training_run, placement, host, now, duration_s=-began)

    def _follow(self, injection: _Injection) -> None:
        """Wait until the training ends, and store its duration and the causes that `wright` reports.

        A host's fault is diagnosed while it lasts.
        """
        training_run, wait_until = injection.training_run, self._service.wait_until
        if injection.planned.kind.subject == "host":
            wait_until(
                lambda: training_run.noticed(injection.time) is not None or training_run.over(),
                NOTICE_LIMIT_S,
            )
            wait_until(lambda: bool(self._diagnose(injection)) or training_run.over(), NOTICE_LIMIT_S)
        wait_until(training_run.over, TRAINING_LIMIT_S)
        injection.duration_s += self.clock.monotonic()
        if not injection.causes:
            self._diagnose(injection)

    def _diagnose(self, injection: _Injection) -> tuple[str, ...]:
        """Store in the injection and return the causes that `wright` reports for what the kind of fault affects.

        That is the host, the run, or the failures of the run. Empty if `wright` reports no cause, or if the kind of
        fault is not diagnosed.
        """
        queries = {
            "host": lambda: self.wright.causes(injection.host),
            "run": lambda: self.wright.causes(injection.training_run.run.name),
            "failure": lambda: self.wright.failures(injection.training_run.run.name),
        }
        injection.causes = queries.get(injection.planned.kind.subject, tuple)()
        return injection.causes

    def _repair(self, injection: _Injection) -> None:
        """Undo the fault and store what healing did, other drained hosts, and the seconds until it is in service.

        Waits for required actions first, as they may take longer than the training.
        """
        kind = injection.planned.kind
        if kind.needs:
            self._service.wait_until(lambda: self._acted(injection) >= set(kind.needs), NOTICE_LIMIT_S)
        second_host = (
            injection.placement.host_for(kind.second_fault["on"], injection.planned.which)
            if kind.second_fault
            else ""
        )
        injection.harmed = tuple(sorted(self._service.out() - {injection.host, second_host}))
        repair(kind, self.cluster)
        if injection.host and injection.host != self.cluster.control.name:
            injection.back_s = self._service.back(injection.host)
        injection.heal_actions = self._heal_actions(injection)

    def _heal_actions(self, injection: _Injection) -> Sequence[Mapping[str, Any]]:
        """Return what `wright heal` has done, proposed or notified since the fault was injected."""
        return [action for action in self.wright.actions() if action["wall"] >= injection.time]

    def _acted(self, injection: _Injection) -> set[str]:
        return {
            str(action["action"]) for action in self._heal_actions(injection) if action.get("state") == "done"
        }

    def _record(self, injection: _Injection, ideal_s: float) -> FaultRecord:
        training_run, heal_actions = injection.training_run, injection.heal_actions
        moments = [training_run.noticed(injection.time), *(action["wall"] for action in heal_actions)]
        noticed = [
            moment - injection.time for moment in moments if moment is not None and moment >= injection.time
        ]
        if injection.planned.kind.program and injection.causes:
            noticed.append(0.0)  # a program that fails by itself needs no detection
        progress = event_metrics.recovery(training_run.events, injection.time)
        actions = (str(action["action"]) for action in heal_actions if action.get("state") != "proposed")
        return FaultRecord(
            run=training_run.run.name, host=injection.host, causes=injection.causes, harmed=injection.harmed,
            detected_s=min(noticed, default=None), progress_s=progress.seconds if progress else None,
            actions=tuple(dict.fromkeys(actions)), outcome=training_run.outcome(), back_s=injection.back_s,
            ideal_s=ideal_s, duration_s=injection.duration_s, **training_run.exactness(injection.time),
        )  # fmt: skip

    def _submit(self, spec: Job) -> TrainingRun:
        return TrainingRun(submit(spec, self.cluster, self.remote), self.remote, self.cluster.control.name)

    @property
    def _service(self) -> Service:
        return Service(self.cluster, self.remote, self.clock)

    @property
    def _shared(self) -> str:
        return self.cluster.shared_folder or "/shared"

    @property
    def _user(self) -> str | None:
        return next(iter(self.cluster.users), None)


@contextmanager
def healing(file: Path, log: Path) -> Iterator[None]:
    """Run `wright heal watch` as a process during a `with` block, with its output in the file `log`.

    It gets no information about the injected faults.
    """
    with log.open("wb") as out:
        process = subprocess.Popen(
            (sys.executable, "-P", "-c", COMMAND, "heal", "watch", "--cluster", str(file)),
            stdout=out,
            stderr=out,
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=30)


def describe(score: Score) -> str:
    """Return a line for the log about the score of one fault: recovery, verdict, causes and actions."""
    record = score.record
    recovery = (
        _("training resumed after {seconds:.1f} s", seconds=record.progress_s)
        if record.progress_s is not None
        else record.outcome
    )
    causes, actions = (", ".join(names) or "-" for names in (record.causes[:2], record.actions))
    return f"{recovery}; {verdict(score)} ({causes}; {actions})"


def verdict(score: Score) -> str:
    """Return as text the failed criteria of a score, or that all passed."""
    judged = ("detected", "cause", "action", "finished", "exact", "unharmed")
    wrong = [name for name in judged if getattr(score, name) is False]
    return _("failed: {scores}", scores=", ".join(wrong)) if wrong else _("passed")
