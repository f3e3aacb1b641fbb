"""A training that sleeps for known times and logs them, in addition to the runtime's events.

`timed.py STEPS STEP_S STALL_S EACH`: STEPS steps of STEP_S seconds, with a stall of STALL_S, a checkpoint, after every
EACH steps. Rank 0's log is `truth/GENERATION.jsonl` in the run's folder: what, begin, end, step.
"""

import json
import os
import random
import sys
import time
from pathlib import Path

RUN, RANK = Path(os.environ["CLUSTERWRIGHT_RUN"]), int(os.environ["RANK"])
GENERATION, WORLD = int(os.environ["CLUSTERWRIGHT_GENERATION"]), int(os.environ["WORLD_SIZE"])
LOAD_S = 0.3


def append(path: Path, **line: object) -> None:
    """Append a JSON line in one write."""
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def event(kind: str, **more: object) -> None:
    """Write an event in the runtime's format."""
    common = {"host": os.environ["CLUSTERWRIGHT_HOST"], "generation": GENERATION, "rank": RANK}
    append(RUN / "events" / f"rank-{RANK:05d}.jsonl", time=time.time(), event=kind, **common, **more)


def spend(what: str, seconds: float, step: int) -> float:
    """Sleep and log it; return the actual seconds."""
    begin = time.time()
    time.sleep(seconds)
    end = time.time()
    if RANK == 0:
        append(RUN / "truth" / f"{GENERATION}.jsonl", what=what, begin=begin, end=end, step=step)
    return end - begin


def main() -> None:
    """Run all remaining steps."""
    steps, step_s, stall_s, each = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    saved = [int(path.name[5:]) for path in (RUN / "checkpoints").glob("step-*")]
    done, busy, dice = max(saved, default=0), 0.0, random.Random(GENERATION)
    (RUN / "truth").mkdir(exist_ok=True)
    event("process_start", started=time.time(), pid=os.getpid())
    event("group_ready", world_size=WORLD)
    time.sleep(LOAD_S)
    event("resumed", step=done)
    while done < steps:
        seconds = spend("step", step_s * (0.5 + dice.random()), done + 1)
        done, busy = done + 1, busy + seconds
        if RANK == 0:
            event("step", step=done, seconds=seconds, busy=busy)
        if done % each == 0:
            spend("stall", stall_s, done)
            if RANK == 0:
                (RUN / "checkpoints" / f"step-{done:08d}").mkdir(exist_ok=True)
    if RANK == 0:
        event("finished", step=done)
        (RUN / "finished.json").write_text(json.dumps({"step": done}))


if __name__ == "__main__":
    main()
