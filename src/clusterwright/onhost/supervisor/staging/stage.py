"""Copies a training's data to this host's scratch.

`python -m clusterwright.onhost.supervisor.staging.stage SCRATCH PATH...`,
run once on each host before the ranks start. `SCRATCH/jobs/ID/data` then has each folder under its own path, as a
link to the copy: what a program reads below that prefix is local.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Sequence

from clusterwright.onhost.supervisor import console
from clusterwright.onhost.supervisor.staging.manifest import manifest_of
from clusterwright.onhost.supervisor.staging.store import InsufficientSpaceError, Store, format_bytes

FIXES = {
    "room": "delete there what nobody needs, or set `stage: none` to read from the server",
    "hooks": "`slurm.health: true` and a disk with `mount` in the cluster file, then wright apply",
}


def stage(scratch: str, job: str, paths: Sequence[str]) -> None:
    """Each folder is on this host, whole, and the job has its links to them.

    Raises:
        NoRoomError: one does not fit.
        OSError: one cannot be read, or the prolog has made no place here.
    """
    job_folder = os.path.join(scratch, "jobs", job)
    team = os.path.join(scratch, "staged", str(os.getgid()))
    for folder in (job_folder, team):
        if not os.access(folder, os.W_OK):
            raise OSError(f"{folder} is not there for us: Slurm's prolog makes it ({FIXES['hooks']})")
    store = Store(team, os.path.join(scratch, "jobs"), job)
    for path in paths:
        began = time.monotonic()
        manifest = manifest_of(path)
        with store.exclusive():
            copy, is_cached = store.find(path, manifest)
        link = os.path.join(job_folder, "data") + path
        os.makedirs(os.path.dirname(link), exist_ok=True)
        os.symlink(copy, link)
        elapsed_s = time.monotonic() - began
        how = "is here already" if is_cached else f"copied in {elapsed_s:.1f} s"
        console.out(
            f"stage: {_host()}: {path}: {len(manifest.files)} files, {format_bytes(manifest.size)}, {how}"
        )


def _host() -> str:
    return os.environ.get("SLURMD_NODENAME") or os.uname().nodename


def main(arguments: Sequence[str]) -> int:
    """0 when all is here; else the reason goes to standard error with the host."""
    scratch, *paths = arguments
    os.umask(0o007)  # what is staged is the team's, and nobody else's
    try:
        stage(scratch, os.environ["SLURM_JOB_ID"], paths)
    except InsufficientSpaceError as error:
        console.error(f"stage: {_host()}: {error}\nfix: {FIXES['room']}")
        return 1
    except OSError as error:
        console.error(f"stage: {_host()}: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
