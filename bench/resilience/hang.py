"""Experiment 2: one rank of two hangs; seconds to its detection and to the first new step.

    python -m bench.resilience.hang [--out FILE] [--seeds 3] [--quick] [--systems 'ours|torchft']

The rank is stopped by a signal, sleeps, or loops endlessly, in Python or in a C call that holds the GIL. Each fault has
its own training, since a verdict may double the limit of the next. Other systems that detect no hang get one minute,
once.

`pauses` tests for false alarms: quick steps, the first ten times as long, pauses of all ranks for 20 s, rank 0 busy for
5 s while the other waits, and ten seconds with four busy loops on each CPU. No hang may be reported. `cost` is the
share of a core that an agent uses while ranks run, and a rank's thread that shows progress.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench.resilience.launched import Launched, launched
from bench.resilience.lines import Lines, load, options, say, versions
from bench.resilience.systems import System, chosen
from clusterwright.onhost.supervisor.schedulers import AGENT

CASES = ("SIGSTOP", "sleep", "spin", "spin in C")
START_S, LIMIT_S = 90.0, 60.0
PACE_STEPS = 100  # about six seconds, in which the step time is learned
RIVALS = {  # faults, once each: these systems detect every hang in the same way, or none
    "torchrun, own store": ("SIGSTOP",),
    "ft_launcher": ("SIGSTOP", "spin"),
    "ft_launcher (default)": ("SIGSTOP",),
    "torchft": ("SIGSTOP", "spin"),
    "ours, plain script": ("SIGSTOP", "spin"),
}
PARTS = {"detect": "rank_hung", "end": "generation_end", "start": "generation_start"}


class Trial(NamedTuple):
    """One training with one fault."""

    system: System
    case: str
    seed: int


def main() -> None:
    """Run all trials and write a line for each."""
    given = options(__doc__ or "", seeds=3, quick=1)
    lines, systems = Lines("hang", given.out), chosen(given.systems)
    for each in systems:
        if each.missing:
            lines.write(each.name, flags=each.flags, outcome="skipped", reason=each.missing)
    for trial in _trials([each for each in systems if not each.missing], given.seeds):
        found = _hang(trial)
        known = versions(**trial.system.versions())
        lines.write(
            trial.system.name,
            flags=trial.system.flags,
            case=trial.case,
            seed=trial.seed,
            versions=known,
            **found,
        )
        say(f"{trial.system.label} {trial.case}: {found['outcome']} {json.dumps(found['seconds'])}")
    for each in systems:
        if each.label == "ours":
            lines.write("ours", case="pauses", **_pauses(each, quick=given.quick))
            lines.write("ours", case="cost", **_cost(each))


def _trials(systems: list[System], seeds: int) -> Iterator[Trial]:
    """Yield the trials, alternating between systems."""
    for seed in range(1, seeds + 1):
        for case in CASES:
            for each in systems:
                cases = CASES if each.label == "ours" else RIVALS.get(each.label, ()) if seed == 1 else ()
                if case in cases:
                    yield Trial(each, case, seed)


def _hang(trial: Trial) -> dict[str, Any]:
    """Start a training, wait for its step time, inject the fault, wait for a new step."""
    dice, busy = random.Random(f"{trial.case} {trial.seed}"), load()
    with launched(trial.system) as training:
        target = dice.randrange(PACE_STEPS, 2 * PACE_STEPS)
        if not training.until(lambda: training.newest_step() >= target, START_S):
            return {"outcome": "lost", "reason": training.last_words(), "load": busy, "seconds": {}}
        order = {"rank": dice.randrange(2), "share": dice.random(), "do": trial.case}
        (training.folder / "order").write_text(json.dumps(order))
        (training.folder / "order").rename(training.folder / "armed")
        fault = training.until(lambda: training.of("fault"), 10)
        if not fault:
            return {"outcome": "lost", "reason": "ended before the fault", "load": busy, "seconds": {}}
        at, before = fault[0]["time"], training.newest_step()
        # a stopped rank is continued for its stacks and may complete a step: only a new process makes a new step
        old = (
            {one["pid"] for one in training.of("step")}
            if trial.system.rival != "torchft"
            else {fault[0]["pid"]}
        )
        new = training.until(lambda: _new(training, before, old), LIMIT_S)
        if not new:
            outcome = "lost" if training.over() else "hung"
            return {
                "outcome": outcome,
                "reason": f"no new step in {LIMIT_S:.0f} s",
                "load": busy,
                "seconds": {},
            }
        return {"load": busy, **_seconds_by_part(training, order["rank"], at, new[0]["time"])}


def _new(training: Launched, before: int, old: set[int]) -> list[dict[str, Any]]:
    return [one for one in training.of("step") if one["step"] > before and one["pid"] not in old]


def _seconds_by_part(training: Launched, rank: int, fault: float, new: float) -> dict[str, Any]:
    """Return seconds by part, as far as the system reports them, and whether it named the right rank."""
    seconds, edge = {}, fault
    for part, kind in PARTS.items():
        times = [one["time"] for one in _events(training, kind) if one["time"] > fault]
        if times:
            seconds[part], edge = times[0] - edge, times[0]
    seconds |= {"first step": new - edge, "total": new - fault} if seconds else {"total": new - fault}
    hung = _events(training, "rank_hung")
    if not hung:
        return {"outcome": "ok", "seconds": seconds}
    written = sum(
        "most recent call first" in path.read_text()
        for path in training.folder.glob("runs/*/logs/1/*/*.stacks")
    )
    figures = {"stacks": written, "named_wrong": int({one["rank"] for one in hung} != {rank})}
    return {"outcome": "ok", "seconds": seconds, "figures": figures, "message": hung[0]["message"]}


def _events(training: Launched, kind: str) -> list[dict[str, Any]]:
    """Return the events of our launcher of a kind, by time."""
    paths = training.folder.glob("runs/*/events/*.jsonl")
    events = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    return sorted((one for one in events if one["event"] == kind), key=lambda one: float(one["time"]))


def _pauses(system: System, *, quick: bool) -> dict[str, Any]:
    """Run steps, pauses, long work and a busy machine; every reported hang is a false alarm."""
    steps, pause_s = (2_000, 5) if quick else (10_000, 20)
    disturb: list[list[object]] = [[1, -1, "pause", 0.1]]
    disturb += [[steps * part // 10, -1, "pause", pause_s] for part in (3, 6, 9)]
    disturb += [[steps * part // 10, 0, "work", 5] for part in (5, 8)]
    env = {"BENCH_DISTURB": json.dumps(disturb), "BENCH_STEP_S": "0.005", "BENCH_UNTIL": str(steps)}
    busy, begun = load(), time.monotonic()
    with launched(system, **env) as training:
        training.until(lambda: training.newest_step() >= steps * 7 // 10, 600)
        with _busy_loops(4 * (os.cpu_count() or 1)):
            training.until(lambda: None, 10)
        reached = training.until(lambda: training.newest_step() >= steps, 600)
        alarms, starts = _events(training, "rank_hung"), _events(training, "generation_start")
        figures = {
            "steps": training.newest_step(), "pauses": 3, "pause_s": pause_s, "false_alarms": len(alarms),
            "generations": len(starts),
        }  # fmt: skip
        outcome = "false alarm" if alarms else "ok" if reached else "lost"
        reason = (
            {"reason": alarms[0]["message"] if alarms else training.last_words()} if outcome != "ok" else {}
        )
    say(f"pauses: {outcome} {json.dumps(figures)} {reason}")
    seconds = {"whole": time.monotonic() - begun}
    return {"load": busy, "outcome": outcome, "figures": figures, "seconds": seconds, **reason}


@contextmanager
def _busy_loops(count: int) -> Iterator[None]:
    """Run busy loops during the block."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for each in loops:
            each.kill()
            each.wait()


def _cost(system: System) -> dict[str, Any]:
    """Return the shares of a core that an agent and a rank's progress thread use over twenty seconds."""
    busy = load()
    with launched(system) as training:
        training.until(lambda: training.newest_step() >= PACE_STEPS, START_S)
        agents = [
            pid for pid in training.alive() if AGENT.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]
        before = sum(map(_cpu_s, agents))
        training.until(lambda: None, 20)
        if not agents or not set(agents) <= set(training.alive()):
            return {"load": busy, "outcome": "lost", "reason": training.last_words()}
        agent = (sum(map(_cpu_s, agents)) - before) / 20
    shows = (
        "import time; from clusterwright.onhost.supervisor.hang import progress; pages = progress.Pages(1);"
        "path, _, offset = pages.variable(0)[1].rpartition(':'); progress.show(path, int(offset));"
        "cpu = time.process_time(); time.sleep(20); print((time.process_time() - cpu) / 20)"
    )
    rank = float(subprocess.check_output([sys.executable, "-c", shows], text=True))
    figures = {"agent_core_share": agent, "rank_core_share": rank}
    say(f"cost: {json.dumps(figures)}")
    return {"load": busy, "figures": figures}


def _cpu_s(pid: int) -> float:
    """Return CPU seconds of a process (proc(5): fields 14 and 15 of stat)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
