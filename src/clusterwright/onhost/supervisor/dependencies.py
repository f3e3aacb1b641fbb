"""Check in the job script whether the runs that this one depends on have ended: `... dependencies RUN OTHERS...`.

Slurm counts a job that handed off its run as completed. While a run has not ended, a new job of this run is
therefore submitted that depends on that run's newest job.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Sequence

from clusterwright.onhost.supervisor import console, schedulers
from clusterwright.onhost.supervisor.folder import Folder

OVER, FAILED, WAITS = 0, 1, 3


def newest(run: str) -> str:
    """Return the id of the newest job of the run in a folder; empty if unknown."""
    chain = os.path.join(run, "chain")
    numbers = [int(name) for name in os.listdir(chain) if name.isdigit()] if os.path.isdir(chain) else []
    path = os.path.join(chain, str(max(numbers))) if numbers else os.path.join(run, "jobs")
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().split()[-1]
    except (OSError, IndexError):
        return ""


def submit_dependent_job(folder: Folder, job_id: str) -> str:
    """Submit a new job of this run that starts after the job `job_id` ends; return "" or the error of sbatch.

    The new job's id is appended to the run's file `jobs`.
    """
    env = [f"{name}={os.environ[name]}" for name in schedulers.FORWARDED_VARIABLES if name in os.environ]
    dependency = f"--dependency=afterany:{job_id}"
    code, out = schedulers.slurm(
        "env", "-i", *env, "sbatch", "--parsable", dependency, folder.path_to("job.sh")
    )
    if code != 0 or not out:
        return out or "sbatch printed no job id"
    with open(folder.path_to("jobs"), "a", encoding="utf-8") as file:
        file.write(out.splitlines()[-1].split(";")[0] + "\n")
    return ""


def main(arguments: Sequence[str]) -> int:
    """Check the runs that this run depends on; return exit code OVER if all have finished, FAILED if one failed.

    WAITS: one still runs, and a new job of this run, which this call submitted, waits for it. The first argument is
    this run's folder, the others are those runs. FAILED ends this run as failed.
    """
    folder, runs = Folder(arguments[0]), arguments[1:]
    for run in runs:
        name, ended = os.path.basename(run), Folder(run).read("ended.json")
        if ended.get("outcome") == "finished":
            continue
        error = "" if ended else submit_dependent_job(folder, newest(run))
        if not ended and not error:
            console.out(f"{time.strftime('%H:%M:%S')} {name} continues in job {newest(run)}; waiting for it")
            return WAITS
        reason = f"{name} did not finish: {ended.get('outcome') or error}"
        console.out(f"{time.strftime('%H:%M:%S')} failed: {reason}")
        folder.write("ended.json", {"outcome": "failed", "code": 1, "reason": reason, "time": time.time()})
        return FAILED
    return OVER


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
