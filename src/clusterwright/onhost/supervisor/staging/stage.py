"""Copy a training's data to this host's scratch.

`python -m clusterwright.onhost.supervisor.staging.stage [--private] SCRATCH PATH...`,
run once on each host before the ranks start. `SCRATCH/jobs/ID/data` then has each folder under its own path,
as a link to the copy, so a program that reads below that prefix reads locally. The user's team shares the copies; with
`--private`, only the user's own jobs do, and nobody else can change them.
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
    "room": "delete unused files there, or set `stage: none` to read from the server",
    "hooks": "set `slurm.health: true` and a disk with `mount` in the cluster file, then run wright apply",
}


def stage(scratch: str, job: str, paths: Sequence[str], *, private: bool = False) -> None:
    """Copy each folder to this host and link it into the job's folder.

    Raises:
        InsufficientSpaceError: a copy does not fit.
        OSError: a folder cannot be read, or the prolog did not create the scratch folders.
    """
    job_folder = os.path.join(scratch, "jobs", job)
    name = f"user-{os.getuid()}" if private else str(os.getgid())
    copies = os.path.join(scratch, "staged", name)
    for folder in (job_folder, copies):
        if not os.access(folder, os.W_OK):
            raise OSError(f"{folder} is not writable; Slurm's prolog creates it\nfix: {FIXES['hooks']}")
    store = Store(copies, os.path.join(scratch, "jobs"), job)
    for path in paths:
        began = time.monotonic()
        manifest = manifest_of(path)
        with store.exclusive():
            copy, is_cached = store.find(path, manifest)
        link = os.path.join(job_folder, "data") + path
        os.makedirs(os.path.dirname(link), exist_ok=True)
        os.symlink(copy, link)
        elapsed_s = time.monotonic() - began
        how = "already on this host" if is_cached else f"copied in {elapsed_s:.1f} s"
        count = len(manifest.files)
        files = f"{count} file" if count == 1 else f"{count} files"
        console.out(f"stage: {_host()}: {path}: {files}, {format_bytes(manifest.size)}, {how}")


def _host() -> str:
    return os.environ.get("SLURMD_NODENAME") or os.uname().nodename


def main(arguments: Sequence[str]) -> int:
    """Stage the folders; on failure print the reason with the host to standard error and return 1."""
    private = arguments[0] == "--private"
    scratch, *paths = arguments[1:] if private else arguments
    os.umask(0o077 if private else 0o007)  # only the user, or the team, may read staged data
    try:
        stage(scratch, os.environ["SLURM_JOB_ID"], paths, private=private)
    except InsufficientSpaceError as error:
        console.error(f"stage: {_host()}: {error}\nfix: {FIXES['room']}")
        return 1
    except OSError as error:
        console.error(f"stage: {_host()}: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
