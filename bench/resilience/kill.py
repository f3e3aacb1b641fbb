"""Experiment 1: one rank of two is killed with SIGKILL; seconds to the first new step, by part.

    python -m bench.resilience.kill [--out FILE] [--seeds 10] [--quick] [--systems 'ours|torchrun, own store']

A tiny training under DistributedDataParallel, 50 ms per step, a checkpoint every 5 steps.
The seed determines the killed rank, the step (at least 10 after the last fault) and the moment in the step.
A training has five faults, and systems alternate; a lost training is started again.
Lost: the launcher gave up. Hung: no new step within 30 s.
"""

from __future__ import annotations

import json
import random
from typing import Any

from bench.resilience.launched import Launched, launched
from bench.resilience.lines import Lines, interleaved, load, options, say, versions
from bench.resilience.systems import System, chosen

IN_ONE = 5
START_S, LIMIT_S = 60.0, 30.0  # the slowest clean recovery measured took 9.1 s on an idle machine
WHOLE_S = 30.0  # until both ranks train again, if one continues alone meanwhile
MILESTONES = {"import": "imported", "group": "group", "load": "loaded", "first step": "step"}


def main() -> None:
    """Run all trials and write a line for each."""
    given = options(__doc__ or "", quick=2)
    lines = Lines("kill", given.out)
    systems = chosen(given.systems)
    for system in systems:
        if system.missing:
            lines.write(
                system.name, flags=system.flags, case="rank", outcome="skipped", reason=system.missing
            )
    able = [each for each in systems if not each.missing]
    for turn, system in interleaved(able, -(-given.seeds // IN_ONE)):
        first = (turn - 1) * IN_ONE + 1
        seeds = list(range(first, min(first + IN_ONE, given.seeds + 1)))
        while seeds:
            seeds = seeds[_one_training(system, seeds, lines) :]


def _one_training(system: System, seeds: list[int], lines: Lines) -> int:
    """Run trials in one training until it is lost; return their number, the last one included."""
    with launched(system) as training:
        if not training.until(lambda: _both_ranks_time(training, 0), START_S):
            reason = "did not start"
            lines.write(
                system.name, flags=system.flags, case="rank", seed=seeds[0], outcome="lost", reason=reason
            )
            say(f"{system.label}: {reason}\n{(training.folder / 'out').read_text()[-3000:]}")
            return 1
        for count, seed in enumerate(seeds, 1):
            found = _trial(training, seed)
            known = versions(**system.versions())
            lines.write(system.name, flags=system.flags, case="rank", seed=seed, versions=known, **found)
            say(f"{system.label} {seed}: {found['outcome']} {json.dumps(found['seconds'])}")
            if found["outcome"] != "ok" or "whole" not in found["seconds"]:
                return count
    return len(seeds)


def _trial(training: Launched, seed: int) -> dict[str, Any]:
    """Kill a rank and wait for a new step."""
    dice = random.Random(seed)
    rank, wait, share = dice.randrange(2), dice.randrange(10, 20), dice.random()
    busy, target = load(), training.newest_step() + wait
    training.until(lambda: training.newest_step() >= target, START_S)
    training.watch({each["rank"]: each["pid"] for each in training.of("step")}.values())
    order = training.folder / "order"
    order.write_text(json.dumps({"rank": rank, "share": share}))
    order.rename(training.folder / "armed")
    faults = len(training.of("fault"))
    if not training.until(lambda: len(training.of("fault")) > faults, 10):
        return {"outcome": "lost", "reason": "ended before the fault", "seconds": {}, "load": busy}
    fault = training.of("fault")[-1]["time"]
    before = max(each["step"] for each in training.of("step") if each["time"] <= fault)
    new = training.until(lambda: _beyond(training, before), LIMIT_S)
    if not new:
        outcome = "lost" if training.over() else "hung"
        return {"outcome": outcome, "reason": training.last_words(), "seconds": {}, "load": busy}
    seconds = _parts(training, fault, new["time"])
    if whole := training.until(lambda: _both_ranks_time(training, before), WHOLE_S):
        seconds["whole"] = whole - fault
    restarts = len({each["pid"] for each in training.of("script", fault) if each["time"] < new["time"]}) / 2
    figures = {
        "rank": rank,
        "step": before,
        "restarts": restarts,
        "lost_steps": _lost(training, fault, before),
    }
    return {"outcome": "ok", "seconds": seconds, "figures": figures, "load": busy}


def _beyond(training: Launched, before: int) -> dict[str, Any] | None:
    return next((each for each in training.of("step") if each["step"] > before), None)


def _both_ranks_time(training: Launched, before: int) -> float | None:
    """Return when both ranks had passed a step, together if a system continues without one; None if not yet."""
    first: dict[int, float] = {}
    for each in training.of("step"):
        if each["step"] > before and each.get("replicas", 2) == 2:
            first.setdefault(each["rank"], each["time"])
    return max(first.values()) if len(first) == 2 else None


def _lost(training: Launched, fault: float, before: int) -> int:
    """Return the number of steps that were repeated."""
    loaded = [each["step"] for each in training.of("loaded", fault) if "step" in each]
    return before - min(loaded) if loaded else 0


def _parts(training: Launched, fault: float, new: float) -> dict[str, float]:
    """Return seconds by part, from the last start before the new step; each part ends with the slower rank."""
    total = {"total": new - fault}
    scripts = [each for each in training.of("script", fault) if each["time"] < new][-2:]
    if len(scripts) < 2 or len(training.of("loaded", scripts[0]["time"])) < 2:
        return total  # no process was restarted: torchft's survivor
    pids = {each["pid"] for each in scripts}
    gone = max((end for end in training.ends.values() if fault <= end < new), default=fault)
    started = max(each["started"] for each in scripts)
    detected = (
        gone if started < fault else max(fault, min(gone, started))
    )  # a process may have been started in advance
    times = {"detect": detected, "respawn": max(detected, started)}
    for part, kind in MILESTONES.items():
        firsts = {
            each["pid"]: each["time"] for each in reversed(training.of(kind, fault)) if each["pid"] in pids
        }
        times[part] = min(new, max(firsts.values()))
    times["again"] = new
    edges = [fault, *times.values()]
    return {part: end - begin for part, begin, end in zip(times, edges, edges[1:], strict=False)} | total


if __name__ == "__main__":
    main()
