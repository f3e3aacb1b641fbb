"""A training that only counts: no torch, but steps, checkpoints, resume, stop and finish as the runtime does them."""

import json
import os
import signal
import sys
import time
from pathlib import Path

RUN, CHECKPOINTS = Path(os.environ["CLUSTERWRIGHT_RUN"]), Path(os.environ["CLUSTERWRIGHT_CHECKPOINTS"])
RANK, GENERATION = int(os.environ["RANK"]), int(os.environ["CLUSTERWRIGHT_GENERATION"])
EVERY = int(os.environ["CLUSTERWRIGHT_CHECKPOINT_EVERY"].partition(":")[2])


def event(kind, **more):
    """One line, as the runtime writes it."""
    line = {
        "time": time.time(),
        "event": kind,
        "host": os.environ["CLUSTERWRIGHT_HOST"],
        "generation": GENERATION,
    }
    with (RUN / "events" / f"rank-{RANK}-{os.getpid()}.jsonl").open("a") as file:
        file.write(json.dumps({**line, "rank": RANK, **more}) + "\n")


def main():
    """Count to the first argument or until it is `enough`, pausing for the second; fail at the step of the third."""
    until, pause, fail_at = int(sys.argv[1]), float(sys.argv[2]), int((sys.argv[3:] or ["0"])[0])
    asked = []
    signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
    step = max([int(path.name[5:]) for path in CHECKPOINTS.glob("step-*")], default=0)
    event("resumed", step=step, pid=os.getpid())
    sys.stdout.write(f"rank {RANK} of {os.environ['WORLD_SIZE']} from step {step}\n")
    while step < until and not (RUN / "enough").exists():
        time.sleep(pause)
        step += 1
        if step == fail_at:
            sys.exit(f"rank {RANK} fails at step {step}, as told")
        stop = bool(asked) or (RUN / "stop").exists()
        if RANK == 0:
            event("step", step=step, loss=1 / step)
            if stop or step % EVERY == 0:
                (CHECKPOINTS / f"step-{step:08d}").mkdir(exist_ok=True)
        if stop:
            event("stopped", step=step)
            return
    if RANK == 0:
        (RUN / "finished.json").write_text(json.dumps({"step": step}))
    event("finished", step=step)


if __name__ == "__main__":
    main()
