"""Uploads of checkpoints in object storage: restored before the ranks start, uploaded by a process beside them."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import Dict, Iterator, Sequence

from clusterwright.onhost.lib.processes import Process, TimeoutExpired
from clusterwright.onhost.lib.run_module import module_arguments
from clusterwright.onhost.supervisor import console
from clusterwright.onhost.supervisor.folder import Folder
from clusterwright.onhost.supervisor.host import processes
from clusterwright.onhost.supervisor.host.private import secrets_of_user
from clusterwright.onhost.supervisor.job import JobRecord

PROGRAM = "clusterwright.onhost.object_storage.program"
LOG = ("logs", "uploads.log")
REASON = "uploads.json"
POLL_S = 0.2
HANDOFF_S = 5.0  # the successor's uploads continue
LAST_S = 3600.0  # for the upload of a finished run's last checkpoint; Slurm's time limit may end it earlier


def is_ready(record: JobRecord, folder: Folder) -> bool:
    """Restore a missing checkpoint from the uploads; return True if the run can start.

    If the uploads cannot be used, end the run with the reason and return False. True without uploads.
    """
    if not record.job.checkpoint.upload_to:
        return True
    folder.remove(REASON)
    process = _start("restore", folder)
    while process.poll() is None:
        if folder.has("cancelled"):
            process.kill()
            process.wait()
            return True
        time.sleep(POLL_S)
    if process.returncode == 0:
        return True
    reason = folder.read(REASON).get("reason") or f"the program exited with {process.returncode}"
    reason = f"uploads of checkpoints: {reason}"
    console.out(f"{time.strftime('%H:%M:%S')} failed: {reason}")
    folder.write("ended.json", {"outcome": "failed", "code": 1, "reason": reason, "time": time.time()})
    return False


@contextlib.contextmanager
def uploads(record: JobRecord, folder: Folder) -> Iterator[None]:
    """Upload checkpoints by a process during a `with` block, if the job has `checkpoint.upload_to`, else do nothing.

    Afterwards wait for the last upload: LAST_S at most if the run has ended, else HANDOFF_S.
    """
    if not record.job.checkpoint.upload_to:
        yield
        return
    process = _start("upload", folder)
    try:
        yield
    finally:
        process.terminate()
        is_over = folder.has("ended.json")
        if is_over and process.poll() is None:
            console.out(f"{time.strftime('%H:%M:%S')} waiting for the upload of the last checkpoint")
        _wait(process, LAST_S if is_over else HANDOFF_S)


def _start(action: str, folder: Folder) -> Process:
    argv: Sequence[str] = [sys.executable, *module_arguments(PROGRAM, action, folder.path)]
    return processes.start(argv, {**os.environ, **_secrets()}, folder.path_to(*LOG))


def _secrets() -> Dict[str, str]:
    try:
        return dict(secrets_of_user())
    except OSError as error:
        console.error(f"uploads of checkpoints start without the user's secrets: {error}")
        return {}


def _wait(process: Process, limit_s: float) -> None:
    try:
        process.wait(limit_s)
    except TimeoutExpired:
        process.kill()
        process.wait()
