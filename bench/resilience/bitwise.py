"""Experiment 5: a training is killed 20 times, also during saves, and must equal an uninterrupted one bitwise.

    python -m bench.resilience.bitwise [--out FILE] [--seeds 1] [--quick]

It has dropout, BatchNorm, shuffling, a learning-rate schedule and epochs that end within a step, with no data workers
and with two. One kill in four is during a save. Every loss of every rank, also of repeated steps, and the final
weights must be bitwise equal; the indexes of all samples are recorded and counted.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from typing import Any

from bench.resilience.launched import Launched, launched
from bench.resilience.lines import Lines, load, options, say, spread
from bench.resilience.systems import System, ours

START_S, LIMIT_S, END_S = 60.0, 60.0, 60.0
EVERY = "4 steps"
FEWEST, MOST = 2, 8  # new steps between a recovery and the next kill


def main() -> None:
    """Run the trials without workers and with two."""
    given = options(__doc__ or "", seeds=1, quick=1)
    lines = Lines("bitwise", given.out)
    system = System("ours", "best", ours("exact.py", every=EVERY))
    kills = 4 if given.quick else 20
    for seed in range(1, given.seeds + 1):
        for workers in (0, 2):
            found = trial(system, kills, workers, seed)
            lines.write("ours", case=f"{kills} kills, {workers} workers", seed=seed, **found)
            say(f"{kills} kills, {workers} workers: {found['outcome']} {json.dumps(found['figures'])}")


def trial(system: System, kills: int, workers: int, seed: int) -> dict[str, Any]:
    """Run the training with kills, then without, and compare them."""
    dice, busy = random.Random(seed), load()
    gaps = [dice.randrange(FEWEST, MOST) for _ in range(kills)]
    env = {
        "BENCH_WORKERS": str(workers), "BENCH_STEP_S": "0.03",
        "BENCH_UNTIL": str(sum(gaps) + 8 * kills + 20),
    }  # fmt: skip
    with launched(system, **env) as training:
        recoveries, in_saves = _kill_all(training, gaps, dice)
        code = training.finish(END_S) if len(recoveries) == kills else None
        training.tail()
        killed, reason = _losses_and_samples(training), training.last_words()
    with launched(system, **env) as training:
        training.finish(START_S + END_S)
        training.tail()
        calm = _losses_and_samples(training)
    figures = {
        "kills": kills,
        "recovered": len(recoveries),
        "kills_in_saves": in_saves,
        **compared(killed, calm),
    }
    differs = figures["differing_losses"] or figures["doubled"] or figures["skipped"]
    whole = code == 0 and figures["losses"] == 2 * int(env["BENCH_UNTIL"])
    outcome = "lost" if not whole else "differs" if differs or not figures["same_weights"] else "ok"
    around = spread(recoveries)
    seconds = {"total": around.median, "least": around.least, "most": around.most} if around else {}
    found = {"outcome": outcome, "seconds": seconds, "figures": figures, "load": busy}
    return found if outcome == "ok" else {**found, "reason": reason}


def compared(killed: dict[str, Any], calm: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of differences between the killed and the uninterrupted training."""
    differing = sum(killed["losses"].get(key) != values for key, values in calm["losses"].items())
    trained, wanted = killed["samples"], calm["samples"]
    return {
        "losses": len(calm["losses"]), "differing_losses": differing,
        "same_weights": bool(calm["weights"]) and killed["weights"] == calm["weights"],
        "doubled": sum((trained - wanted).values()), "skipped": sum((wanted - trained).values()),
        "samples": sum(wanted.values()), "steps_again": killed["again"],
    }  # fmt: skip


def _losses_and_samples(training: Launched) -> dict[str, Any]:
    """Return all losses by rank and step, how often each sample went into the final weights, and repeated steps."""
    losses: dict[tuple[int, int], set[str]] = {}
    last: dict[tuple[int, int], list[int]] = {}
    steps = training.of("step")
    for each in steps:
        losses.setdefault((each["rank"], each["step"]), set()).add(each["loss"])
        last[each["rank"], each["step"]] = each["samples"]
    weights = {each["digest"] for each in training.of("weights")}
    samples = Counter(number for numbers in last.values() for number in numbers)
    again = sum(each["rank"] == 0 for each in steps) - sum(rank == 0 for rank, _ in losses)
    return {"losses": losses, "samples": samples, "weights": weights, "again": again}


def _kill_all(training: Launched, gaps: list[int], dice: random.Random) -> tuple[list[float], int]:
    """Return the seconds of each recovery (fewer than the gaps if one failed), and the number of kills during saves."""
    found: list[float] = []
    in_saves = 0
    if not training.until(lambda: training.newest_step() >= FEWEST, START_S):
        return found, in_saves
    for number, gap in enumerate(gaps):
        target = training.newest_step() + gap
        if not training.until(lambda wanted=target: training.newest_step() >= wanted, LIMIT_S):
            break
        rank, within = dice.randrange(2), number % 4 == 1
        old = {each["pid"] for each in training.of("script")}
        fault = _kill_rank(training, rank, dice, within=within)
        new = fault and training.until(lambda gone=old: _new(training, gone), LIMIT_S)
        if not fault or not new:
            break
        found.append(new["time"] - fault)
        in_saves += within
    return found, in_saves


def _kill_rank(training: Launched, rank: int, dice: random.Random, *, within: bool) -> float | None:
    """Kill the rank; return the time, or None if it was to be killed during a save and there was none."""
    if not within:
        time.sleep(dice.random() * 0.05)
        training.tail(0)
        fault = time.time()
        os.kill([each["pid"] for each in training.of("group") if each["rank"] == rank][-1], signal.SIGKILL)
        return fault
    faults = len(training.of("fault"))
    order = training.folder / "order"
    count = dice.randrange(1, 4) if rank == 0 else 1  # the other rank has only one fsync in a save
    order.write_text(json.dumps({"rank": rank, "count": count}))
    order.rename(training.folder / "armed-save")
    training.until(lambda: len(training.of("fault")) > faults, LIMIT_S)
    return training.of("fault")[-1]["time"] if len(training.of("fault")) > faults else None


def _new(training: Launched, old: set[int]) -> dict[str, Any] | None:
    """Return the first mark of a step completed by a new process only."""
    steps = training.of("step")
    before = max(each["step"] for each in steps if each["pid"] in old)
    return next((each for each in steps if each["pid"] not in old and each["step"] > before), None)


if __name__ == "__main__":
    main()
