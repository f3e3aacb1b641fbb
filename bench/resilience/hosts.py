"""Experiments 3 and 4: a host is lost, or Slurm reclaims the hosts; seconds to the first new step, by part.

    python -m bench.resilience.hosts [--out FILE] [--seeds 5] [--only 'spare|time limit'] [--systems ours] [--keep]

Needs root and creates a lab of eight hosts with Slurm, `bench-hosts`, where every trial is a job: one rank on each of
two hosts, 50 ms per step, a checkpoint every 5 steps. `spare`: the job has a third, standby host. `fewer`: the
remaining host continues alone. Killed: like a power cut. Cut off: the host runs, but no packet passes. First host: that
of the batch step. Other systems are tried once, where they differ.

--only takes parts of case names; --keep leaves the lab up for the next run (`wright lab down bench-hosts`).
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from bench.resilience.hosts_faults import CASES, Case
from bench.resilience.hosts_jobs import Training
from bench.resilience.hosts_lab import Place, applied_lab
from bench.resilience.hosts_parts import lost_steps, new_step, parts
from bench.resilience.hosts_systems import EVERY, System
from bench.resilience.lines import Lines, load, options, say, versions
from clusterwright import lab
from clusterwright.errors import WrightError

START_S = 120.0
PACE_STEPS = 20
LOSSES = ("spare, host killed", "fewer, host killed", "spare, host cut off", "spare, first host killed")
RIVALS = {  # cases of the other systems
    "torchrun, own store": LOSSES,
    "ft_launcher": LOSSES,
    "torchrun (default)": ("spare, host killed", "time limit, other hosts"),
}
QUICK = "spare, host killed|time limit, other hosts"  # cases of --quick, for our system
ONCE = ("first host killed, same hosts",)  # each takes a minute


class Trial(NamedTuple):
    """One training with one fault."""

    system: System
    case: Case
    seed: int


def main() -> None:
    """Run all trials and write a line for each."""
    more = argparse.ArgumentParser(add_help=False)
    more.add_argument(
        "--only", default="", help="only cases whose names contain one of these, separated by |"
    )
    more.add_argument("--keep", action="store_true", help="leave the lab up")
    given = options(__doc__ or "", seeds=5, quick=1, more=more)
    lines = {name: Lines(name, given.out) for name in ("hosts", "handoff")}
    trials = list(_trials(given))
    if missing := lab.able():
        for each in trials:
            _write(lines, each, {"outcome": "skipped", "reason": missing[0].message})
        return
    with applied_lab(keep=given.keep) as place:
        for each in trials:
            begun = time.monotonic()
            found = _run_or_skip(place, each)
            _write(lines, each, found)
            told = f"{found['outcome']} {json.dumps(found.get('seconds'))} {found.get('why', '')}"
            say(
                f"{each.system.label}: {each.case.name} {each.seed}: {told} ({time.monotonic() - begun:.0f} s)"
            )


def _trials(given: argparse.Namespace) -> Iterator[Trial]:
    """Yield the trials, alternating between cases, with the other systems in the first round."""
    labels = ["ours"] if given.quick else [each.label for each in EVERY]
    names = given.systems.split("|") if given.systems else labels
    wanted = [each.strip() for each in (given.only or (QUICK if given.quick else "")).split("|")]
    for seed in range(1, given.seeds + 1):
        for case in CASES:
            for system in EVERY:
                once = seed == 1 and case.name in RIVALS.get(system.label, ())
                tried = once or (system.label == "ours" and (seed == 1 or case.name not in ONCE))
                if tried and system.label in names and any(each in case.name for each in wanted):
                    yield Trial(system, case, seed)


def _write(lines: dict[str, Lines], trial: Trial, found: dict[str, Any]) -> None:
    system = trial.system
    known = versions(**system.versions())
    lines[trial.case.experiment].write(
        system.name, flags=system.flags, case=trial.case.name, seed=trial.seed, versions=known, **found
    )


def _run_or_skip(place: Place, trial: Trial) -> dict[str, Any]:
    """Run a trial; mark it as skipped if something is missing or the lab fails."""
    if trial.system.missing:
        return {"outcome": "skipped", "reason": trial.system.missing}
    try:
        return _run_trial(place, trial)
    except (RuntimeError, WrightError) as error:
        return {"outcome": "skipped", "reason": f"the bench: {error}"}


def _run_trial(place: Place, trial: Trial) -> dict[str, Any]:
    """Start a training, wait until its step time is known, inject the fault, and wait for a new step."""
    place.clear()
    dice, busy = random.Random(f"{trial.case.name} {trial.seed}"), load()
    training = Training(place, trial.system, trial.case.shape)
    try:
        place.fix()  # hosts of the previous trial boot while this one's ranks import torch
        if not training.until(training.ready, START_S):
            return {"outcome": "lost", "reason": f"did not start: {training.last_words()}", "load": busy}
        trial.case.arrange(training)
        target = training.newest_step() + dice.randrange(PACE_STEPS, 2 * PACE_STEPS)
        training.until(lambda: training.newest_step() >= target, START_S)
        time.sleep(dice.random() * 0.05)
        fault = trial.case.inject(training)
        new = training.until(lambda: new_step(training.marks, fault), trial.system.limit_s)
        if not new:
            return {"load": busy, **_failed_outcome(training)}
        ends = {
            part: [each["time"] for kind in kinds for each in training.events(kind, fault)]
            for part, kinds in trial.case.parts.items()
        }
        figures = {"lost_steps": lost_steps(training.marks, fault)}
        return {"load": busy, "outcome": "ok", "seconds": parts(fault, new["time"], ends), "figures": figures}
    finally:
        training.end()


def _failed_outcome(training: Training) -> dict[str, Any]:
    """Return the outcome of a trial without a new step."""
    over = training.over()
    limit = f"no new step in {training.system.limit_s:.0f} s"
    return {"outcome": "lost" if over else "hung", "reason": training.last_words() if over else limit}


if __name__ == "__main__":
    main()
