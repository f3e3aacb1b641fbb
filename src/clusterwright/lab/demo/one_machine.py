"""The demo where no hosts can be made: the same training as ranks on this machine, one of them killed."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

from clusterwright.config.job import Job, Recovery
from clusterwright.edge.clock import Clock
from clusterwright.errors import WrightError
from clusterwright.lab.demo import here, lanes, reckon
from clusterwright.lab.demo.course import Course, ripe, strike_step
from clusterwright.lab.demo.report import Told
from clusterwright.lab.demo.talk import Talk
from clusterwright.launch.events import Here
from clusterwright.launch.local import local
from clusterwright.launch.run import Run

WORD = "CLUSTERWRIGHT_RUN"  # what every process of a run has in its environment (decision 0001)
AGENTS = "clusterwright.onhost.supervisor."
GOODBYE_S = 10.0  # a run that is cancelled asks its ranks to save, which takes a second
NOT_HERE = "needs hosts; this was one machine"
FIELDS = ("image", "lab_up", "apply", "second_apply", "check", "lab_down")


def on_one_machine(job: Job, told: Told, talk: Talk, clock: Clock, folder: Path) -> None:
    """The training with a rank killed, and once more without; no process of either is left."""
    told.reasons |= {f"seconds.{name}": NOT_HERE for name in FIELDS}
    told.reasons |= dict.fromkeys(("second_apply_changes", "checks", "fault.joined_again_s"), NOT_HERE)
    alone = _alone(job)
    told.places = tuple(lanes.place_of(rank) for rank in range(job.nodes * job.gpus_per_node))
    told.checkpoint_every = job.checkpoint.every.steps
    runs: list[Run] = []
    try:
        with talk.chapter(
            "train", f"training {job.name} as {len(told.places)} ranks, one to be killed on the way"
        ):
            course = _start(alone, folder, runs, talk, clock)
            try:
                told.fault = _strike(course, alone, clock, talk)
                course.finish()
            finally:
                told.faulted = course.events
        with talk.chapter("train_uninterrupted", "the same training without the fault"):
            course = _start(alone, folder, runs, talk, clock)
            try:
                course.finish()
            finally:
                told.uninterrupted = course.events
    finally:
        with talk.undisturbed():
            told.left_behind = tuple(left for run in runs for left in _end(run, clock))


def _alone(job: Job) -> Job:
    """The job for one machine: nobody else's, and without spares."""
    return job.model_copy(update={"user": None, "recovery": Recovery(restarts=job.recovery.restarts)})


def _start(job: Job, folder: Path, runs: list[Run], talk: Talk, clock: Clock) -> Course:
    run = local(job, folder / "runs")
    runs.append(run)
    talk.say(f"run {run.name} in {run.folder}")
    return Course(run, Here(), talk, clock)


def _strike(course: Course, job: Job, clock: Clock, talk: Talk) -> lanes.Fault:
    """The last rank is killed, as the kernel would do it when memory runs out."""
    every = job.checkpoint.every.steps or 1
    step = strike_step(int(job.arguments.get("steps", 0)), every)
    course.until(partial(ripe, step=step, every=every), f"step {step}, where a rank was to be killed")
    rank = job.nodes * job.gpus_per_node - 1
    pid = _process(course, rank)
    now = clock.now()
    os.kill(pid, signal.SIGKILL)
    talk.say(f"kill -9 {pid}: rank {rank} is gone after step {reckon.last_step_before(course.events, now)}")
    fault = lanes.Fault("kill-rank", course.events[0].host, rank, now)
    course.until(lambda events: reckon.recovery(events, now) is not None, "a step after the fault")
    return fault


def _process(course: Course, rank: int) -> int:
    """The process of a rank, as it said when it began.

    Raises:
        WrightError: there is none; the training has ended in this moment.
    """
    said = [event for event in course.events if event.kind == "process_start" and event.rank == rank]
    pid = int(said[-1].more["pid"]) if said else 0
    if pid not in here.processes(WORD, course.run.folder):
        name = course.run.name
        raise WrightError.of("demo-no-rank", f"no process of rank {rank} in run {name}", "run the demo again")
    return pid


def _end(run: Run, clock: Clock) -> list[str]:
    """The run is over, by itself, asked, or killed; what lives on after that."""
    if not _alive(run):
        return []
    Path(run.folder, "cancelled").touch()
    until = clock.monotonic() + GOODBYE_S
    while _alive(run) and clock.monotonic() < until:
        clock.sleep(0.2)
    for pid in _alive(run):
        os.kill(pid, signal.SIGKILL)
    clock.sleep(0.2)
    return [f"process {pid}" for pid in _alive(run)]


def _alive(run: Run) -> list[int]:
    """The processes of the run: ranks and agents by their environment, what stands in for Slurm by its words."""
    return sorted({*here.processes(WORD, run.folder), *here.commands(AGENTS, run.folder)})
