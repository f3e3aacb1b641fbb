"""Find a run without Slurm that has ended and that its owner resumes: a local run, or a run of a hostfile."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import time
from dataclasses import dataclass
from pathlib import Path

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.launch.listing import no_run
from clusterwright.launch.local import create_runs_folder, is_alive, start_script
from clusterwright.launch.run import RunFolder
from clusterwright.launch.submission import run_of_other_user
from clusterwright.onhost.lib.run_outcome import decide
from clusterwright.onhost.lib.safe_reader import modified, read_object
from clusterwright.onhost.runs import run_state
from clusterwright.onhost.runs.run_folders import find, owner_of, user_name
from clusterwright.onhost.supervisor.host_keeper import LEASE
from clusterwright.onhost.supervisor.job import InvalidRecordError, JobRecord, read_record

# What ends a run, or belongs to its last supervisor; checkpoints, events and logs stay.
_ENDING = ("pulse", "stop", "cancelled", "ended.json", "standby.json", LEASE)
SILENT_S = 120.0  # after the last heartbeat without an outcome; the hosts have started another supervisor long before


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run of the caller that has ended."""

    folder: Path
    record: JobRecord

    def clear_ending(self) -> None:
        """Remove the outcome and the chain of supervisors, so that the next supervisor resumes the run."""
        for name in _ENDING:
            (self.folder / name).unlink(missing_ok=True)
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self.folder / "chain")


def find_ended(runs: Path, reference: str) -> EndedRun:
    """Return the run that `reference` names in the folder `runs`.

    Raises:
        WrightError: there is no such run, it belongs to another user or could be exchanged by one, has not ended, or
            belongs to a cluster.
    """
    path = find(str(runs), reference)
    if not path:
        raise no_run(reference, None, str(runs))
    folder = create_runs_folder(runs) / Path(path).name
    _require_owner(folder)
    try:
        record = read_record(path)
    except InvalidRecordError as error:
        fix = _("submit the job again")
        raise WrightError.from_code("file-unreadable", str(error), fix, exit_code=EXIT_USAGE) from error
    if record.in_slurm:
        message = _("{run} is a run of a Slurm cluster", run=folder.name)
        fix = _("remove --local or --hostfile: wright train --resume {run}", run=folder.name)
        raise WrightError.from_code("train-words", message, fix, exit_code=EXIT_USAGE)
    if _is_running(folder, record):
        message = _("run {run} has not ended", run=folder.name)
        fix = _("cancel the run first: wright cancel {run}", run=folder.name)
        raise WrightError.from_code("run-not-ended", message, fix, exit_code=EXIT_USAGE)
    return EndedRun(folder, record)


def resume_local(run: EndedRun) -> RunFolder:
    """Start an ended local run again, from its newest checkpoint, and return it."""
    run.clear_ending()
    return RunFolder(run.folder.name, str(start_script(run.folder)), str(run.folder))


def is_without_slurm(run: Path) -> bool:
    """Return whether the record of a run names no cluster: the run is local, or on the hosts of a hostfile."""
    record = read_object(str(run / "job.json"))
    return bool(record.get("local") or record.get("hosts"))


def _require_owner(run: Path) -> None:
    """Raise WrightError unless the caller owns the folder and its script, which runs with the caller's rights."""
    try:
        script = os.lstat(run / "job.sh")
    except FileNotFoundError as error:
        message = _("{run} has no job.sh, the script of a run", run=run)
        fix = _("submit the job again")
        raise WrightError.from_code("file-unreadable", message, fix, exit_code=EXIT_USAGE) from error
    caller, owners = os.geteuid(), {owner_of(str(run)), script.st_uid}
    if owners != {caller} or not stat.S_ISREG(script.st_mode):
        other = next((uid for uid in owners if uid not in {caller, None}), None)
        owner = _("another user") if other is None else user_name(other)
        raise run_of_other_user(str(run), owner, user_name(caller), _("the owner resumes this run"))


def _is_running(run: Path, record: JobRecord) -> bool:
    """Return whether something may still continue the run.

    A local run ends with its process. Hosts without an outcome may be choosing the next supervisor.
    """
    if record.local:
        return is_alive(run)
    heartbeat = modified(str(run / "pulse"))
    has_outcome = decide(run_state.read_evidence(str(run))).has_ended
    return not has_outcome and heartbeat is not None and time.time() - heartbeat < SILENT_S
