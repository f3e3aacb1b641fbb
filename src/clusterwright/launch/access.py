"""Read access to a run: the mode and the group of its folder; processes of the run take their umask from the mode."""

from __future__ import annotations

import contextlib
import grp
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clusterwright.config.job import Job

# Setgid: everything below has the folder's group, also if the team is not the user's primary group.
MODES = {"me": 0o700, "team": 0o2750, "everyone": 0o755}


def private_by_default(job: Job) -> Job:
    """Return the job with `share: me`, unless its file sets `share`; call it if the cluster's groups are not teams."""
    return job if "share" in job.model_fields_set else job.model_copy(update={"share": "me"})


def umask(job: Job) -> int:
    """Return the umask of the run's processes, from the job's `share` (me, team or everyone)."""
    return ~MODES[job.share] & 0o777


def restrict_function(job: Job) -> str:
    """Return a shell function `restrict FOLDER`, which sets group and mode of a new folder of the run."""
    team = f"chgrp {shlex.quote(job.team)} " + '"$1" 2>/dev/null || ' if job.team else ""
    group = f'{{ {team}chgrp "$(id -g)" "$1"; }} && ' if job.share == "team" else ""
    return f'restrict() {{ {group}chmod {MODES[job.share]:o} "$1"; }}; '


def create_command(job: Job, run: str) -> str:
    """Return the shell command that creates a run's folder, for submission by hand."""
    group = f" -g {shlex.quote(job.team)}" if job.share == "team" and job.team else ""
    return f"install -d -m {MODES[job.share]:o}{group} {shlex.quote(run)}"


def restrict(folder: Path, job: Job) -> None:
    """Set group and mode of a new folder of a local run."""
    if job.share == "team":
        os.chown(folder, -1, os.getgid())
        with contextlib.suppress(KeyError, PermissionError):  # no such group, or not a member
            os.chown(folder, -1, grp.getgrnam(job.team or "").gr_gid)
    folder.chmod(MODES[job.share])


@contextmanager
def umask_of(job: Job) -> Iterator[None]:
    """Set the umask of the job's run in a `with` block, for files and processes created in it; restore it after."""
    previous_umask = os.umask(umask(job))
    try:
        yield
    finally:
        os.umask(previous_umask)
