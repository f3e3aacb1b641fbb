"""Run the demo without hosts: the same training as ranks on this machine, one of them killed."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

from clusterwright.config.job import Job, Recovery
from clusterwright.edge.clock import Clock
from clusterwright.errors import WrightError
from clusterwright.i18n import N_, _
from clusterwright.lab.demo import event_metrics, lanes, local_machine
from clusterwright.lab.demo.report import DemoFacts
from clusterwright.lab.demo.run_follower import RunFollower, fault_step, is_time_for_fault
from clusterwright.lab.demo.talk import Talk
from clusterwright.launch.events import LocalReader
from clusterwright.launch.local import local
from clusterwright.launch.run import RunFolder

RUN_VARIABLE = "CLUSTERWRIGHT_RUN"  # set for every process of a run (decision 0001)
AGENTS = "clusterwright.onhost.supervisor."
GOODBYE_S = 10.0  # a canceled run saves first, which takes a second
NOT_APPLICABLE = N_("requires several hosts; this run used one machine")
FIELDS = ("image", "lab_up", "apply", "second_apply", "check", "lab_down")


def on_single_machine(job: Job, facts: DemoFacts, talk: Talk, clock: Clock, folder: Path) -> None:
    """Train on this machine with one rank killed, and once more without the fault; fill in `facts`.

    All processes of both are ended.
    """
    facts.reasons |= {f"seconds.{name}": NOT_APPLICABLE for name in FIELDS}
    facts.reasons |= dict.fromkeys(("second_apply_changes", "checks", "fault.joined_again_s"), NOT_APPLICABLE)
    local_job = _local_job(job)
    facts.places = tuple(lanes.place_of(rank) for rank in range(job.nodes * job.gpus_per_node))
    facts.checkpoint_every = job.checkpoint.every.steps
    runs: list[RunFolder] = []
    try:
        with talk.chapter(
            "train",
            _(
                "training {job} as {count} ranks; one rank will be killed",
                job=job.name,
                count=len(facts.places),
            ),
        ):
            follower = _start(local_job, folder, runs, talk, clock)
            try:
                facts.fault = _kill_rank(follower, local_job, clock, talk)
                follower.finish()
            finally:
                facts.faulted = follower.events
        with talk.chapter("train_uninterrupted", _("the same training without the fault")):
            follower = _start(local_job, folder, runs, talk, clock)
            try:
                follower.finish()
            finally:
                facts.uninterrupted = follower.events
    finally:
        with talk.undisturbed():
            facts.leftovers = tuple(process for run in runs for process in _end(run, clock))


def _local_job(job: Job) -> Job:
    """Return the job for one machine: without another user and standby hosts."""
    return job.model_copy(update={"user": None, "recovery": Recovery(restarts=job.recovery.restarts)})


def _start(job: Job, folder: Path, runs: list[RunFolder], talk: Talk, clock: Clock) -> RunFollower:
    run = local(job, folder / "runs")
    runs.append(run)
    talk.log(_("run {run} in {folder}", run=run.name, folder=run.folder))
    return RunFollower(run, LocalReader(), talk, clock)


def _kill_rank(follower: RunFollower, job: Job, clock: Clock, talk: Talk) -> lanes.InjectedFault:
    """Wait for the step for the fault, kill the last rank with SIGKILL, and return the fault once it trains again.

    SIGKILL is what the kernel sends when memory runs out.
    """
    every = job.checkpoint.every.steps or 1
    step = fault_step(int(job.arguments.get("steps", 0)), every)
    follower.wait_until(
        partial(is_time_for_fault, step=step, every=every),
        _("step {step}, at which the demo kills a rank", step=step),
    )
    rank = job.nodes * job.gpus_per_node - 1
    pid = _process(follower, rank)
    now = clock.now()
    os.kill(pid, signal.SIGKILL)
    talk.log(
        _(
            "kill -9 {pid}: rank {rank} is killed after step {step}",
            pid=pid,
            rank=rank,
            step=event_metrics.last_step_before(follower.events, now),
        )
    )
    fault = lanes.InjectedFault("kill-rank", follower.events[0].host, rank, now)
    follower.wait_until(
        lambda events: event_metrics.recovery(events, now) is not None, _("a step after the fault")
    )
    return fault


def _process(follower: RunFollower, rank: int) -> int:
    """Return the PID of a rank that runs, from its start event.

    Raises:
        WrightError: It does not run; the training has just ended.
    """
    starts = [event for event in follower.events if event.kind == "process_start" and event.rank == rank]
    pid = int(starts[-1].more["pid"]) if starts else 0
    if pid not in local_machine.processes(RUN_VARIABLE, follower.run.folder):
        name = follower.run.name
        raise WrightError.from_code(
            "demo-no-rank",
            _("rank {rank} of run {name} is not running: the training has just ended", rank=rank, name=name),
            _("run the demo again"),
        )
    return pid


def _end(run: RunFolder, clock: Clock) -> list[str]:
    """Cancel the run if it is alive, and kill what remains after GOODBYE_S; return which processes are left after that.

    Empty if none are.
    """
    if not _alive(run):
        return []
    Path(run.folder, "cancelled").touch()
    deadline = clock.monotonic() + GOODBYE_S
    while _alive(run) and clock.monotonic() < deadline:
        clock.sleep(0.2)
    for pid in _alive(run):
        os.kill(pid, signal.SIGKILL)
    clock.sleep(0.2)
    return [f"process {pid}" for pid in _alive(run)]


def _alive(run: RunFolder) -> list[int]:
    """Return the PIDs of the run: ranks and agents by environment, the stand-in for Slurm by command line."""
    return sorted(
        {*local_machine.processes(RUN_VARIABLE, run.folder), *local_machine.commands(AGENTS, run.folder)}
    )
