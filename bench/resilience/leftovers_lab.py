"""Experiment 8 on lab hosts: what is left after a training's srun is killed, or its job is canceled.

    python -m bench.resilience.leftovers_lab [--out FILE] [--seeds 2] [--quick] [--systems 'ours|torchrun'] [--keep]

Two hosts under Slurm with one rank each, and two data workers per rank. A training whose srun is killed may continue
as long as its job runs and can end it (`goes_on`). Needs root and the requirements of `wright lab up`.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bench.lib.lab import EXAMPLE, replaced
from bench.resilience import hosts_lab
from bench.resilience.hosts_jobs import Training
from bench.resilience.hosts_lab import USER
from bench.resilience.hosts_systems import TORCHRUN, Launcher, System
from bench.resilience.lines import HERE, Lines, interleaved, load, options, say, versions
from clusterwright import lab
from clusterwright.config.job import Job
from clusterwright.config.load import load_cluster
from clusterwright.lab import state
from clusterwright.launch.run import RunFolder
from clusterwright.launch.submission import submit
from clusterwright.provision.apply import apply, remote_of

NAME, NET = "bench-left", "10.191"
CHANGES = {"name: lab\n": f"name: {NAME}\n", "10.77.": f"{NET}.", "gpu-node[1-4]": "gpu-node[1-2]"}
START_S, SOON_S, LATE_S = 240.0, 1.0, 15.0
STEPS = 5
Processes = set[int]


def main() -> None:
    """Run every case of every system; without a lab, write lines that say so."""
    more = argparse.ArgumentParser(add_help=False)
    more.add_argument("--keep", action="store_true", help="leave the lab up for the next run")
    given = options(__doc__ or "", seeds=2, quick=1, more=more)
    lines = Lines("leftovers", given.out)
    trials = [(system, case) for system in SYSTEMS for case in CASES]
    if problems := lab.able():
        for system, case in trials:
            lines.write(system.name, case=case, outcome="skipped", reason=str(problems[0]))
        return
    with applied_lab(keep=given.keep) as place:
        for seed, (system, case) in interleaved(trials, given.seeds):
            if given.systems and system.label not in given.systems.split("|"):
                continue
            found = trial(place, system, case)
            lines.write(system.name, flags=system.flags, case=case, seed=seed, **found, versions=versions())
            say(f"{system.label}, {case}: {found['outcome']} {found['figures']} {found.get('why', '')}")


class Place(hosts_lab.Place):
    """The lab of two compute hosts and their control host."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.folder = state.folder(NAME) / "shared" / self.shared.strip("/")


@contextmanager
def applied_lab(*, keep: bool) -> Iterator[Place]:
    """Yield the lab after an apply, with the trainings in its shared folder; removed at the end unless `keep`."""
    file = HERE.parents[1] / "build/resilience/leftovers/cluster.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    text = replaced(EXAMPLE.read_text(), CHANGES)
    file.write_text(text)
    cluster = load_cluster(file)
    try:
        lab.up(cluster, log=say)
        place = Place(cluster, remote_of(cluster))
        if (report := apply(cluster, str(file), place.remote)).failed:
            raise RuntimeError(f"apply failed: {report}")
        shutil.copytree(HERE / "trainings", place.here(f"{place.bench}/trainings"), dirs_exist_ok=True)
        yield place
    finally:
        if not keep and (left := lab.down(NAME)):
            raise RuntimeError(f"left behind: {left}")


def _ours(training: Training) -> tuple[str, RunFolder]:
    place = training.place
    job = {
        "name": "bench", "command": [f"{place.bench}/trainings/exact.py"], "nodes": 2, "time": "10m", "user": USER,
        "gpus_per_node": 1, "checkpoint": {"every": "20 steps"},
        "environment": {"variables": {"BENCH_FOLDER": training.bench, "OMP_NUM_THREADS": "1", "BENCH_WORKERS": "2"}},
    }  # fmt: skip
    run = submit(Job.model_validate(job, strict=False), place.cluster, place.remote)
    return run.name, dataclasses.replace(run, folder=str(place.here(run.folder)))


SYSTEMS = (
    System("ours", "best", _ours),
    System("torchrun", "default", Launcher(TORCHRUN, "loading.py").submit),
)


def trial(place: Place, system: System, case: str) -> dict[str, Any]:
    """Run one trial; return what is left 1 s and 15 s later."""
    busy = load()
    training = Training(place, system, "handoff")
    try:
        started = training.until(lambda: training.newest_step() >= STEPS, START_S)
        if not started:
            reason = f"did not start: {training.last_words()}"
            return {"outcome": "lost", "reason": reason, "load": busy, "seconds": {}, "figures": {}}
        doomed = alive(training)
        begun = time.time()
        CASES[case](training)
        seconds, figures = _after(training, doomed, begun)
    finally:
        training.end()
        _until_gone(alive(training), time.time() + 60)
    left = figures["alive_1s"]
    found = {"outcome": "left" if left else "ok", "seconds": seconds, "figures": figures, "load": busy}
    return {**found, "reason": f"{left} processes after 1 s"} if left else found


def _after(training: Training, doomed: Processes, begun: float) -> tuple[dict[str, float], dict[str, int]]:
    """Return when the last process had exited, and how many were left; none if the training continues in its job."""
    gone = _until_gone(doomed, begun + SOON_S)
    soon = late = len(_living(doomed))
    if soon:
        gone = _until_gone(doomed, begun + LATE_S)
        late = len(_living(doomed))
    training.take_in()
    ranks = {(each["host"], each["pid"]) for each in training.of("step", begun + SOON_S)}
    goes_on = bool(late and training.of("step", begun + LATE_S - 1) and training.job())
    figures = {
        "processes": len(doomed), "goes_on": int(goes_on), "trained_on": 0 if goes_on else len(ranks),
        "alive_1s": 0 if goes_on else soon, "alive_15s": 0 if goes_on else late,
    }  # fmt: skip
    return {"total": gone - begun} if gone else {}, figures


def kill_srun(training: Training) -> None:
    """Kill all srun processes of the job; each srun is two."""
    for pid in alive(training):
        with suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text().strip() == "srun":
                os.kill(pid, signal.SIGKILL)


def scancel(training: Training) -> None:
    """Cancel the job as a user does."""
    training.place.control(f"scancel {training.job()}", user=USER)


CASES: dict[str, Callable[[Training], None]] = {"SIGKILL of srun": kill_srun, "scancel": scancel}


def alive(training: Training) -> Processes:
    """Return the training's pids on all lab hosts, which are visible on this machine, by folder in the environment."""
    mark, found = f"BENCH_FOLDER={training.bench}\0".encode(), set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if mark in (entry / "environ").read_bytes():
                    found.add(int(entry.name))
    return found


def _until_gone(doomed: Processes, limit: float) -> float | None:
    """Wait until the processes have exited; return the time, None if one is left after the limit."""
    while _living(doomed):
        if time.time() > limit:
            return None
        time.sleep(0.02)
    return time.time()


def _living(pids: Processes) -> Processes:
    """Return the running processes; zombies do not count."""
    return {pid for pid in pids if _state(pid) not in ("", "Z")}


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


if __name__ == "__main__":
    main()
