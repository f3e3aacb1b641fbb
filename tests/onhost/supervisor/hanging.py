"""A plain training script of torch, without a word of ours: it hangs, works or pauses where a file tells it to.

Steps are said as counting.py says them. The file `RUN/RANK.do` holds what this rank does before its next step.
"""

import json
import os
import re
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

RUN, CHECKPOINTS = Path(os.environ["CLUSTERWRIGHT_RUN"]), Path(os.environ["CLUSTERWRIGHT_CHECKPOINTS"])
RANK, GENERATION = int(os.environ["RANK"]), int(os.environ["CLUSTERWRIGHT_GENERATION"])


def event(kind, **more):
    """One line, as the runtime writes it."""
    common = {"time": time.time(), "event": kind, "host": os.environ["CLUSTERWRIGHT_HOST"]}
    with (RUN / "events" / f"rank-{RANK}-{os.getpid()}.jsonl").open("a") as file:
        file.write(json.dumps({**common, "generation": GENERATION, "rank": RANK, **more}) + "\n")


def sleep():
    """A lock that is never released looks the same."""
    while True:
        time.sleep(1)


def spin():
    """The interpreter goes round."""
    while True:
        pass


def regex():
    """One call into C keeps the interpreter's lock."""
    re.match("(a+)+$", "a" * 60 + "b")


def work(seconds):
    """An evaluation: it computes, and its stack changes."""
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        deeper(time.monotonic_ns() % 40)


def deeper(levels):
    """Somewhere else each time."""
    return deeper(levels - 1) if levels else sum(range(1000))


def told():
    """Do what the file says, once."""
    path = RUN / f"{RANK}.do"
    if path.exists():
        name, *arguments = path.read_text().split()
        path.unlink()
        event("told", what=name, pid=os.getpid())
        {"sleep": sleep, "spin": spin, "regex": regex, "work": work, "pause": lambda s: time.sleep(float(s))}[
            name
        ](*arguments)


def main():
    """Step until the first argument or until it is `enough`, pausing for the second."""
    until, pause = int(sys.argv[1]), float(sys.argv[2])
    dist.init_process_group("gloo")
    step = max([int(path.name[5:]) for path in CHECKPOINTS.glob("step-*")], default=0)
    event("resumed", step=step, pid=os.getpid())
    enough = torch.zeros(1)
    while step < until and not enough.item():
        time.sleep(pause)
        told()
        enough.fill_((RUN / "enough").exists())
        dist.all_reduce(enough)
        step += 1
        if RANK == 0:
            event("step", step=step)
            if step % 5 == 0:
                (CHECKPOINTS / f"step-{step:08d}").mkdir(exist_ok=True)
    if RANK == 0:
        (RUN / "finished.json").write_text(json.dumps({"step": step}))
    event("finished", step=step)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
