"""Accuracy of a run's goodput accounting, bin by bin.

    python -m bench.resilience.ledger [--out FILE] [--seeds 5] [--quick]

A training of two hosts with two ranks each sleeps for known times and writes its own log (trainings/timed.py).
Ranks are killed at random, recorded moments. The expected accounting follows from log and moments alone and is
compared with ledger.json. Every bin must be within 1 % of the total; `figures` has each bin's own error.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.resilience.lines import HERE, Lines, load, options, say
from clusterwright.config.job import Job
from clusterwright.launch.record import record

SOURCE = HERE.parents[1] / "src"
STEP_S, STALL_S, EACH = 0.1, 0.5, 20
RANKS = 4
# Expected bins; bins that cannot be distinguished from outside are compared together.
TOGETHER = {
    "step": ("step",),
    "stall": ("stall",),
    "lost work": ("lost work",),
    "not training": ("queue", "launch", "import", "group", "load", "detect", "restart"),
    "finish": ("finish",),
}
LEAST = 0.01  # of the total: the goal


def main() -> None:
    """Run one training for each seed."""
    given = options(__doc__ or "", seeds=5, quick=1)
    lines = Lines("ledger", given.out)
    steps, kills = (200, 3) if given.quick else (1200, 12)
    for seed in range(1, given.seeds + 1):
        busy = load()
        with tempfile.TemporaryDirectory() as folder:
            found = trial(Path(folder) / "timed-20261121-120000", seed, steps, kills)
        lines.write("ours", seed=seed, load=busy, **found)
        say(f"{seed}: {found['outcome']} {json.dumps(found['figures'])}")


def trial(run: Path, seed: int, steps: int, kills: int) -> dict[str, Any]:
    """Run a training; return the error of its accounting."""
    run.mkdir()
    submitted = time.time()
    process = _start(run, steps, submitted)
    faults = _faults(run, random.Random(seed), steps, kills)
    code = process.wait(timeout=600)
    truth = _truth(run, submitted, faults)
    ledger = json.loads((run / "ledger.json").read_text())
    seconds = {name: ledger["gpu_s"][name] / RANKS for name in ledger["gpu_s"]}
    printed = {name: sum(seconds[each] for each in bins) for name, bins in TOGETHER.items()}
    whole = sum(truth.values())
    off = {name: abs(printed[name] - truth[name]) for name in truth}
    figures: dict[str, float] = {"kills": len(faults), "worst_ratio": max(off.values()) / whole}
    figures |= {
        f"{name.replace(' ', '_')}_ratio": off[name] / truth[name] for name in truth if truth[name] > 0
    }
    wrong = code != 0 or ledger["failures_by_kind"] != {"ranks-failed": len(faults)}
    differs = wrong or figures["worst_ratio"] > LEAST
    reason = f"printed {printed}, truth {truth}, exit code {code}" if differs else ""
    return {
        "outcome": "differs" if differs else "ok", "reason": reason, "figures": figures,
        "seconds": {"total": whole, **{f"{name} (truth)": truth[name] for name in truth}},
    }  # fmt: skip


def _start(run: Path, steps: int, submitted: float) -> subprocess.Popen[bytes]:
    training = [str(HERE / "trainings" / "timed.py"), *map(str, (steps, STEP_S, STALL_S, EACH))]
    fields = {
        "name": "timed", "command": training, "time": "1d", "nodes": 2, "gpus_per_node": 2,
        "checkpoint": {"every": "5 steps"}, "recovery": {"on_host_loss": "fail", "restarts": 99},
    }  # fmt: skip
    job = Job.model_validate(fields, strict=False)
    (run / "job.json").write_text(record(job, None, str(run), submitted))
    return subprocess.Popen(
        [sys.executable, "-m", "clusterwright.onhost.supervisor.local_scheduler", str(run)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)}, start_new_session=True,
    )  # fmt: skip


def _faults(run: Path, dice: random.Random, steps: int, kills: int) -> list[float]:
    """Kill ranks at moments spread over the training; return the moments."""
    found: list[float] = []
    for number in range(1, kills + 1):
        target = steps * number // (kills + 1) + dice.randrange(EACH)
        _until(lambda target=target: _newest(run) >= target)  # type: ignore[misc]
        time.sleep(dice.random() * STEP_S)
        generation = max(int(path.stem) for path in (run / "truth").iterdir())
        started = [each for each in _events(run, "process_start") if each["generation"] == generation]
        moment, victim = time.time(), dice.choice(started)
        os.kill(victim["pid"], signal.SIGKILL)
        found.append(moment)
        _until(lambda after=generation + 1: (run / "truth" / f"{after}.jsonl").exists())  # type: ignore[misc]
    return found


def _truth(run: Path, submitted: float, faults: Sequence[float]) -> dict[str, float]:
    """Return the expected seconds by bin, from the training's log and the faults alone."""
    books = sorted((run / "truth").glob("*.jsonl"), key=lambda path: int(path.stem))
    attempts = [[json.loads(line) for line in path.read_text().splitlines()] for path in books]
    truth = dict.fromkeys(TOGETHER, 0.0)
    ready = submitted
    for attempt, fault in zip(attempts, [*faults, None], strict=True):
        steps = [each for each in attempt if each["what"] == "step"]
        truth["not training"] += steps[0]["begin"] - ready
        last = steps[-1]["end"]
        inside = sum(each["end"] - each["begin"] for each in steps)
        truth["stall"] += last - steps[0]["begin"] - inside
        ready = max(last, fault or last)
        truth["lost work"] += ready - last
    done_again: set[int] = set()
    for attempt in reversed(attempts):
        for each in attempt:
            if each["what"] == "step":
                truth["lost work" if each["step"] in done_again else "step"] += each["end"] - each["begin"]
        done_again |= {each["step"] for each in attempt if each["what"] == "step"}
    truth["finish"] = json.loads((run / "ended.json").read_text())["time"] - ready
    return truth


def _newest(run: Path) -> int:
    return max((each["step"] for each in _events(run, "step")), default=0)


def _events(run: Path, kind: str) -> list[dict[str, Any]]:
    lines = [line for path in run.glob("events/rank-*.jsonl") for line in path.read_text().splitlines()]
    return [each for each in map(json.loads, lines) if each["event"] == kind]


def _until(seen: Any, limit_s: float = 300.0) -> None:
    end = time.monotonic() + limit_s
    while not seen():
        if time.monotonic() > end:
            raise TimeoutError(f"not seen within {limit_s:.0f} s")
        time.sleep(0.02)


if __name__ == "__main__":
    main()
