"""Copy a training's data to this host's scratch.

`python -m clusterwright.onhost.supervisor.staging.stage SCRATCH PATH... [--team PATH...]`,
run once on each host before the ranks start. `SCRATCH/jobs/ID/data` then has each folder under its own path,
as a link to the copy, so a program that reads below that prefix reads locally. Copies belong to the user: nobody else
can read, replace or lock them. The copies of paths after `--team` are shared by the user's team instead.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from typing import Sequence, Tuple

from clusterwright.onhost.supervisor import console
from clusterwright.onhost.supervisor.staging.manifest import Manifest, manifest_of
from clusterwright.onhost.supervisor.staging.store import (
    TEAM_LOCK_LIMIT_S,
    InsufficientSpaceError,
    Store,
    format_bytes,
)

TEAM = "--team"
FIXES = {
    "room": "delete unused files there, or set `stage: none` to read from the server",
    "hooks": "set `slurm.health: true` and a disk with `mount` in the cluster file, then run wright apply",
}


class JobStaging:
    """Stages the folders of one job on this host."""

    def __init__(self, scratch: str, job: str) -> None:
        """Open the user's store of copies in the scratch folder for this job id.

        Raises:
            OSError: the prolog did not create the scratch folders, or another user can exchange them.
        """
        self._scratch, self._job = scratch, job
        self._job_folder = self._user_folder("jobs", job)
        self._user_store = Store(self._user_folder("staged", f"user-{os.getuid()}"), self._jobs, job)

    @property
    def _jobs(self) -> str:
        return os.path.join(self._scratch, "jobs")

    def _user_folder(self, *names: str) -> str:
        folder = os.path.join(self._scratch, *names)
        if not os.access(folder, os.W_OK):
            raise OSError(f"{folder} is not writable; Slurm's prolog creates it\nfix: {FIXES['hooks']}")
        refuse_unsafe(folder)
        return folder

    def stage(self, path: str, *, for_team: bool = False) -> None:
        """Copy a folder to this host, unless a copy exists, and link it into the job's folder.

        `for_team`: use the copy that the user's team shares.

        Raises:
            InsufficientSpaceError: the copy does not fit.
            OSError: the folder cannot be read.
        """
        began = time.monotonic()
        manifest = manifest_of(path)
        copy, is_cached = self._find_in_team(path, manifest) if for_team else self._find(path, manifest)
        link = os.path.join(self._job_folder, "data") + path
        os.makedirs(os.path.dirname(link), exist_ok=True)
        os.symlink(copy, link)
        elapsed_s = time.monotonic() - began
        how = "already on this host" if is_cached else f"copied in {elapsed_s:.1f} s"
        count = len(manifest.files)
        files = f"{count} file" if count == 1 else f"{count} files"
        console.out(f"stage: {_host()}: {path}: {files}, {format_bytes(manifest.size)}, {how}")

    def _find(self, path: str, manifest: Manifest) -> Tuple[str, bool]:
        with self._user_store.exclusive():
            return self._user_store.find(path, manifest)

    def _find_in_team(self, path: str, manifest: Manifest) -> Tuple[str, bool]:
        """Return the path of the team's copy, made now if missing, and whether it existed.

        A copy of the user's own if members of the team lock the store or fill it.
        """
        folder = os.path.join(self._scratch, "staged", str(os.getgid()))
        try:
            refuse_unsafe(folder)
            store = Store(folder, self._jobs, self._job, for_team=True)
            with store.exclusive(TEAM_LOCK_LIMIT_S):
                return store.find(path, manifest)
        except (OSError, InsufficientSpaceError, RecursionError) as error:  # of deep folders
            console.error(
                f"stage: {_host()}: {path}: {error}\nstage: {_host()}: using a copy of this user only"
            )
            return self._find(path, manifest)


def refuse_unsafe(folder: str) -> None:
    """Raise OSError for a folder that another user can exchange: not all above belong to root or this user.

    Stricter than `trusted_paths`, as members of the team are others too: no group may write. They can write only to
    folders with a sticky bit, where they cannot rename files of root or of this user.

    Raises:
        OSError: another user can exchange the folder or one above it.
    """
    path = os.path.realpath(folder)
    while True:
        status = os.lstat(path)
        others_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not status.st_mode & stat.S_ISVTX
        if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (0, os.geteuid()) or others_write:
            raise OSError(
                f"{folder} is not safe to use: {path} belongs to user {status.st_uid} and has mode "
                f"{stat.S_IMODE(status.st_mode):o}, so other users could exchange data"
            )
        if path == os.path.dirname(path):
            return
        path = os.path.dirname(path)


def _host() -> str:
    return os.environ.get("SLURMD_NODENAME") or os.uname().nodename


def main(arguments: Sequence[str]) -> int:
    """Copy the folders of the arguments to this host's scratch storage; return 0, or 1 after an error.

    The first argument is the scratch folder; those after TEAM are staged for the team. An error is printed with the
    host.
    """
    scratch, *paths = arguments
    team_paths = paths[paths.index(TEAM) + 1 :] if TEAM in paths else []
    user_paths = paths[: paths.index(TEAM)] if TEAM in paths else paths
    os.umask(0o077)  # the store gives the team what it may read once a copy is complete
    try:
        staging = JobStaging(scratch, os.environ["SLURM_JOB_ID"])
        for path in user_paths:
            staging.stage(path)
        for path in team_paths:
            staging.stage(path, for_team=True)
    except InsufficientSpaceError as error:
        console.error(f"stage: {_host()}: {error}\nfix: {FIXES['room']}")
        return 1
    except OSError as error:
        console.error(f"stage: {_host()}: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
