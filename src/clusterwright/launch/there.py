"""Whether the script that a job starts is where its hosts will look for it."""

from __future__ import annotations

import posixpath
from pathlib import PurePosixPath

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.launch.command import workdir
from clusterwright.launch.snapshot import Snapshot

NOT_THERE = 66  # sysexits.h EX_NOINPUT


def to_look_for(job: Job, cluster: Cluster, run: str, copy: Snapshot | None) -> str | None:
    """The path that the control host is to have; None where it cannot tell, or need not be asked.

    Raises:
        WrightError: a relative path that is not in the copy of the code, or begins nowhere.
    """
    name = _script(job)
    if name is None:
        return None
    at = workdir(job, run)
    if not name.startswith("/"):
        inside = posixpath.normpath(name)
        if copy is not None and not job.environment.workdir:
            if inside not in copy.names:
                raise missing(
                    name, "is not in the copy of the code", "name it as it is called there; git may ignore it"
                )
            return None
        if at is None:
            mend = "add `code: {folder: .}`, which copies it into the run, or name its path on shared storage"
            raise missing(name, f"would be looked for in the run's own folder {run}", mend)
    path = posixpath.join(at or run, name)
    shared = [folder.path for folder in cluster.storage.values()]
    return path if any(PurePosixPath(path).is_relative_to(top) for top in shared) else None


def missing(name: str, why: str, mend: str) -> WrightError:
    """The error that says so."""
    return WrightError.of("script-missing", f"{name} {why}", mend, exit_code=EXIT_USAGE)


def _script(job: Job) -> str | None:
    """Python's script, or a program that is named by its path."""
    words = job.command or job.program or ("-",)
    first = words[0]
    if job.command is None and "/" not in first:
        return None
    return None if first.startswith("-") else first
