"""A campaign from its first fault to its last: one training for each, and what becomes of it."""

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
from clusterwright.lab.chaos.asked import COMMAND, Wright
from clusterwright.lab.chaos.course import Course
from clusterwright.lab.chaos.kind import EVERY, PROGRAM, STEPS, Planned, calm, job
from clusterwright.lab.chaos.planting import Places, mend, places, plant
from clusterwright.lab.chaos.score import Score, Seen, judge
from clusterwright.lab.chaos.service import Service
from clusterwright.lab.demo import reckon
from clusterwright.launch.submit import submit

TRAINING_LIMIT_S, NOTICE_LIMIT_S = 300.0, 60.0


@dataclass(slots=True)
class _Struck:
    """One fault: where and when it was planted, under which training, and what was said of it."""

    planned: Planned
    course: Course
    at: Places
    host: str
    time: float
    causes: tuple[str, ...] = ()
    took_s: float = 0.0
    harmed: tuple[str, ...] = ()
    back_s: float | None = None
    deeds: Sequence[Mapping[str, Any]] = field(default=())


@dataclass
class Campaign:
    """What all faults of a campaign share."""

    cluster: Cluster
    remote: Remote
    wright: Wright
    clock: Clock
    say: Callable[[str], None]

    def run(self, drawn: Sequence[Planned]) -> Iterator[Score]:
        """Each fault's score, as soon as it is known."""
        program = (Path(__file__).parent / "breaks.py").read_bytes()
        Host(self.remote, self.cluster.control.name).run(f"cat > {self._shared}/{PROGRAM}", stdin=program)
        ideal_s = self._undisturbed()
        self.say(f"a training to which nothing happens takes {ideal_s:.0f} s")
        for planned in drawn:
            struck = self._strike(planned)
            self._follow(struck)
            self._mend(struck)
            score = judge(planned, self._seen(struck, ideal_s), EVERY)
            self.say(f"{planned.number} {planned.kind.name}: {told(score)}")
            yield score

    def _undisturbed(self) -> float:
        self._service.rest()
        began = self.clock.monotonic()
        self._service.until(self._submit(calm(self._shared, self._user)).over, TRAINING_LIMIT_S)
        return self.clock.monotonic() - began

    def _strike(self, planned: Planned) -> _Struck:
        """The training has begun, and the fault is in force."""
        self._service.rest()
        began = self.clock.monotonic()
        course = self._submit(job(planned.kind, self._shared, self._user, planned.number))
        wanted = planned.at * STEPS
        self._service.until(lambda: course.step() >= wanted or course.over(), TRAINING_LIMIT_S)
        at = places(self.cluster, course.events)
        host, now = at.of(planned.kind.on, planned.which), self.clock.now()
        if not planned.kind.program:
            plant(planned, host, at, self.cluster, self.remote, course)
        return _Struck(planned, course, at, host, now, took_s=-began)

    def _follow(self, struck: _Struck) -> None:
        """Until the training is over; the cause of a host's fault is asked while it has it."""
        course, until = struck.course, self._service.until
        if struck.planned.kind.ask == "host":
            until(lambda: course.noticed(struck.time) is not None or course.over(), NOTICE_LIMIT_S)
            until(lambda: bool(self._heard(struck)) or course.over(), NOTICE_LIMIT_S)
        until(course.over, TRAINING_LIMIT_S)
        struck.took_s += self.clock.monotonic()
        if not struck.causes:
            self._heard(struck)

    def _heard(self, struck: _Struck) -> tuple[str, ...]:
        """What `wright` says is the cause."""
        ways = {
            "host": lambda: self.wright.causes(struck.host),
            "run": lambda: self.wright.causes(struck.course.run.name),
            "failure": lambda: self.wright.failures(struck.course.run.name),
        }
        struck.causes = ways.get(struck.planned.kind.ask, tuple)()
        return struck.causes

    def _mend(self, struck: _Struck) -> None:
        """Who else is out is looked at before; then the fault is taken back, and the host comes back or does not.

        What has to be done may take longer than the training did.
        """
        kind = struck.planned.kind
        if kind.needs:
            self._service.until(lambda: self._acted(struck) >= set(kind.needs), NOTICE_LIMIT_S)
        beside = struck.at.of(kind.beside["on"], struck.planned.which) if kind.beside else ""
        struck.harmed = tuple(sorted(self._service.out() - {struck.host, beside}))
        mend(kind, self.cluster)
        if struck.host and struck.host != self.cluster.control.name:
            struck.back_s = self._service.back(struck.host)
        struck.deeds = self._deeds(struck)

    def _deeds(self, struck: _Struck) -> Sequence[Mapping[str, Any]]:
        """What heal has done, or told, since the fault was planted."""
        return [each for each in self.wright.deeds() if each["wall"] >= struck.time]

    def _acted(self, struck: _Struck) -> set[str]:
        return {str(each["action"]) for each in self._deeds(struck) if each.get("state") == "done"}

    def _seen(self, struck: _Struck, ideal_s: float) -> Seen:
        course, deeds = struck.course, struck.deeds
        moments = [course.noticed(struck.time), *(each["wall"] for each in deeds)]
        noticed = [moment - struck.time for moment in moments if moment is not None and moment >= struck.time]
        if struck.planned.kind.program and struck.causes:
            noticed.append(0.0)  # a program that breaks needs nobody to notice
        progress = reckon.recovery(course.events, struck.time)
        actions = (str(each["action"]) for each in deeds if each.get("state") != "proposed")
        return Seen(
            run=course.run.name, host=struck.host, causes=struck.causes, harmed=struck.harmed,
            detected_s=min(noticed, default=None), progress_s=progress.seconds if progress else None,
            actions=tuple(dict.fromkeys(actions)), outcome=course.outcome(), back_s=struck.back_s,
            ideal_s=ideal_s, took_s=struck.took_s, **course.exactness(struck.time),
        )  # fmt: skip

    def _submit(self, one: Job) -> Course:
        return Course(submit(one, self.cluster, self.remote), self.remote, self.cluster.control.name)

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
    """`wright heal watch` runs beside the campaign, and is told nothing of it."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            (sys.executable, "-c", COMMAND, "heal", "watch", str(file)), stdout=out, stderr=out
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=30)


def told(score: Score) -> str:
    """One line for people."""
    seen = score.seen
    again = f"training again after {seen.progress_s:.1f} s" if seen.progress_s is not None else seen.outcome
    causes, actions = (", ".join(each) or "-" for each in (seen.causes[:2], seen.actions))
    return f"{again}; {verdict(score)} ({causes}; {actions})"


def verdict(score: Score) -> str:
    """What is not as it should be."""
    judged = ("detected", "cause", "action", "finished", "exact", "unharmed")
    wrong = [name for name in judged if getattr(score, name) is False]
    return f"not so: {', '.join(wrong)}" if wrong else "all well"
