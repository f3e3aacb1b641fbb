"""Runs this host's ranks of a training for some steps, and reports each step's time from the runtime's events.

The training's own run is not affected: the trial has a run folder of the bench, starts at step 0 and saves nothing.
Standard library, Python 3.8 or later.
"""

import ctypes
import json
import os
import signal
import sys
import tempfile
import time
from typing import Any, Dict, List

from clusterwright.onhost.lib import processes

POLL_INTERVAL_S = 0.1
NFS_DELAY_S = 10.0  # until rank 0's events are visible on another host over NFS
PR_SET_PDEATHSIG = 1  # linux/prctl.h
NO_CHECKPOINTS = "seconds:999999999"

Json = Dict[str, Any]


def main() -> int:
    """Run a training as one trial: start the ranks, wait until rank 0 has written enough steps, and stop them.

    Print seconds of the steps, loss and parameters as JSON. Return 1, with the reason on stderr, if no step after the
    skipped ones was written, else 0.
    """
    options = json.load(sys.stdin)
    folder = os.path.dirname(os.path.dirname(os.path.abspath(sys.argv[0])))
    run = os.path.join(folder, "trials", options["name"])
    os.makedirs(run, exist_ok=True)
    step_count = options["skip"] + options["steps"]
    with tempfile.TemporaryFile() as output:
        ranks = [start(options, local, run, output) for local in range(options["ranks_here"])]
        try:
            steps = waited(run, ranks, step_count)
        finally:
            end(ranks)
        output.seek(0)
        if len(steps) <= options["skip"]:
            sys.stderr.write(failure_reason(ranks, output.read().decode(errors="replace")))
            return 1
    timed_steps = steps[options["skip"] :]
    report = {
        "seconds": [step["seconds"] for step in timed_steps],
        "loss": timed_steps[-1]["loss"],
        "parameters": parameters(run),
    }
    json.dump({**report, "cpus": len(os.sched_getaffinity(0))}, sys.stdout)
    return 0


def start(options: Json, local: int, run: str, output: Any) -> processes.Process:
    """Start and return the process of one rank with the agent's variables; it dies with this process.

    For the variables see onhost/supervisor/host/generation.py.
    """
    threads = max(1, len(os.sched_getaffinity(0)) // options["ranks_here"])
    rank_variables = {
        "RANK": options["first_rank"] + local,
        "LOCAL_RANK": local,
        "WORLD_SIZE": options["ranks"],
    }
    master_variables = {"MASTER_ADDR": options["address"], "MASTER_PORT": options["port"]}
    host_variables = {
        "LOCAL_WORLD_SIZE": options["ranks_here"],
        "OMP_NUM_THREADS": threads,
        "TORCH_CPP_LOG_LEVEL": "ERROR",
    }
    wires = {"GLOO_SOCKET_IFNAME": options["interface"], "NCCL_SOCKET_IFNAME": options["interface"]}
    path_variables = {"CLUSTERWRIGHT_RUN": run, "CLUSTERWRIGHT_CHECKPOINTS": run + "/checkpoints"}
    ours = {
        **rank_variables,
        **master_variables,
        **host_variables,
        **wires,
        **path_variables,
        "CLUSTERWRIGHT_CHECKPOINT_EVERY": NO_CHECKPOINTS,
    }
    environment = {**os.environ, **{name: str(value) for name, value in ours.items()}}
    return processes.start(
        ["bash", "-c", options["script"]],
        env=environment,
        cwd=options["workdir"] or run,
        stdout=output,
        stderr=output,
        start_new_session=True,
        preexec_fn=die_with_parent,
    )


def die_with_parent() -> None:
    """Set the parent-death signal, so that no rank remains when this host's worker is killed at its limit."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def waited(run: str, ranks: List[processes.Process], step_count: int) -> List[Json]:
    """Return rank 0's step events once there are `step_count`, or 10 s after a rank has ended, perhaps fewer."""
    over = None  # type: Any
    while True:
        steps = written(run)
        if len(steps) >= step_count or (over is not None and time.monotonic() > over):
            return steps[:step_count]
        if over is None and any(rank.poll() is not None for rank in ranks):
            over = time.monotonic() + NFS_DELAY_S
        time.sleep(POLL_INTERVAL_S)


def parameters(run: str) -> Any:
    """Return the number of parameters of the training, None if it does not report them."""
    return next((event.get("parameters") for event in written(run, "plan")), None)


def written(run: str, kind: str = "step") -> List[Json]:
    """Return rank 0's complete events of one kind in the run's folder; none before its first one."""
    path = os.path.join(run, "events", "rank-00000.jsonl")
    try:
        with open(path) as file:
            lines = [line for line in file if line.endswith("\n")]
    except FileNotFoundError:
        return []
    return [event for event in map(json.loads, lines) if event["event"] == kind]


def end(ranks: List[processes.Process]) -> None:
    """Kill the processes of all ranks of this host, and their children."""
    for rank in ranks:
        processes.kill_group(rank)


def failure_reason(ranks: List[processes.Process], output: str) -> str:
    """Return the error text for too few steps: the ranks' exit codes and the last line of output with a word."""
    last = [line for line in output.splitlines() if any(map(str.isalnum, line))][-1:] or ["no output"]
    codes = ", ".join(str(rank.returncode) for rank in ranks)
    return "too few steps written (run.step of clusterwright.runtime), ranks exited with %s: %s\n" % (
        codes,
        last[0].strip(),
    )


if __name__ == "__main__":
    sys.exit(main())
