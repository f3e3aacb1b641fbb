"""The program that uploads checkpoints of one run: `python -m ...object_storage.program restore|upload RUN`.

`restore` runs before the ranks: it restores the newest upload if it is newer than all local checkpoints. It also is
the trial of library, credentials and bucket, so that a run ends there and not hours later without an upload. `upload`
runs beside the training; its output is `logs/uploads.log` in the run's folder. Errors are written without secrets.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from typing import Optional

from clusterwright.onhost.object_storage import local_checkpoints
from clusterwright.onhost.object_storage.bucket import Bucket, BucketError, LibraryMissingError
from clusterwright.onhost.object_storage.layout import parse_target
from clusterwright.onhost.object_storage.uploads import DamagedCheckpointError, NoIntactUploadError, Uploads
from clusterwright.onhost.supervisor.folder import Events, Folder, set_umask
from clusterwright.onhost.supervisor.job import read_record
from clusterwright.onhost.trackers.follower import log, without_secrets

POLL_INTERVAL_S = 2.0
RETRY_S = 10.0  # after a failure
LAST_FAILURES = 10  # in a row after the end of the training, then the last checkpoint stays without an upload
RESTORE_ATTEMPTS = 6  # a minute, for a storage that does not respond
REASON = "uploads.json"  # in the run's folder: why the uploads cannot start, for the supervisor
EXIT_FAILED = 1


def open_uploads(run: str) -> Uploads:
    """Return the uploads of a run by its record.

    Raises:
        BucketError: boto3 or the credentials are missing.
    """
    record = read_record(run)
    checkpoint = record.job.checkpoint
    bucket = Bucket(parse_target(str(checkpoint.upload_to)), checkpoint.endpoint)
    return Uploads(bucket, record.launch.checkpoints, checkpoint.save_total_limit)


class Uploader:
    """Uploads each new checkpoint until it is requested to end; the newest first, since uploads may be slower."""

    def __init__(self, run: str) -> None:
        self._folder, self._record = Folder(run), read_record(run)
        self._events = _events(self._folder)
        self._uploads: Optional[Uploads] = None
        self._uploaded: "set[int]" = set()
        self._damaged: "set[int]" = set()
        self._problem, self._failures = "", 0
        self.ending = threading.Event()

    def run(self) -> int:
        """Upload checkpoints until the end is requested and the newest is uploaded; return 0.

        After the request, LAST_FAILURES failures in a row end it with EXIT_FAILED.
        """
        while True:
            is_last = self.ending.is_set()
            outcome = self._poll()
            if is_last and outcome:
                return 0
            if is_last and self._failures >= LAST_FAILURES:
                log("the last checkpoint is not uploaded; it is when the run continues")
                return EXIT_FAILED
            if outcome is None and is_last:
                time.sleep(RETRY_S)
            elif outcome is not False and not is_last:
                self.ending.wait(POLL_INTERVAL_S if outcome else RETRY_S)

    def _poll(self) -> Optional[bool]:
        """Upload the newest checkpoint that is not uploaded.

        Return True if none is left, None after a failure that is retried, and False after an upload or a damaged
        checkpoint.
        """
        step = None
        try:
            if self._uploads is None:
                uploads = open_uploads(self._folder.path)
                self._uploaded.update(uploads.steps())
                uploads.tidy()
                self._uploads = uploads
            step = self._next()
            if step is None:
                return True
            begun = time.monotonic()
            uploaded = self._uploads.upload(step)
            if uploaded:
                self._uploaded.add(step)
                generation, seconds = self._folder.last_generation(), time.monotonic() - begun
                self._events.write(
                    "checkpoint_uploaded", generation, step=step, seconds=seconds, bytes=uploaded.bytes
                )
                unverified = "" if uploaded.verified else ", unverified: torch cannot be imported here"
                log(f"uploaded the checkpoint of step {step}: {uploaded.bytes} bytes{unverified}")
                self._uploads.tidy()
            self._problem, self._failures = "", 0
        except DamagedCheckpointError as error:
            self._damaged.add(int(step or 0))
            self._write_failure(int(step or 0), str(error))
            log(str(error))
        except (BucketError, OSError, ValueError) as error:
            self._uploads = None  # the next attempt reads the credentials anew
            self._report(step, error)
            return None
        return False

    def _next(self) -> Optional[int]:
        """Return the newest complete local step that is not damaged; None if it or a newer one is uploaded."""
        folder = self._record.launch.checkpoints
        for step in local_checkpoints.steps(folder):
            if step in self._uploaded:
                return None
            if step not in self._damaged and local_checkpoints.read_complete(folder, step):
                return step
        return None

    def _report(self, step: Optional[int], error: Exception) -> None:
        """Log a failed upload, and count it; write an event only when the reason is new."""
        log(f"{error}; retrying")
        if str(error) != self._problem and step is not None:
            self._write_failure(step, str(error))
        self._problem, self._failures = str(error), self._failures + 1

    def _write_failure(self, step: int, reason: str) -> None:
        generation = self._folder.last_generation()
        self._events.write("checkpoint_upload_failed", generation, step=step, reason=reason)


def restore(run: str) -> int:
    """Restore the newest upload if it is newer than all local checkpoints; return 0, or 1 after writing a refusal.

    With a local checkpoint, a storage that does not respond is no reason to wait: the uploads retry.
    """
    folder = Folder(run)
    newest = _newest_local(read_record(run).launch.checkpoints)
    for attempt in range(1, RESTORE_ATTEMPTS + 1):
        try:
            return _restored(open_uploads(run), folder, newest)
        except LibraryMissingError as error:
            return _refuse(folder, "upload-library", library_message(error))
        except (BucketError, OSError) as error:
            problem = str(error)
            can_start = newest >= 0 and isinstance(error, NoIntactUploadError)
            is_permanent = not isinstance(error, BucketError) or error.permanent
        if can_start or (newest >= 0 and not is_permanent):
            log(f"{problem}; the run starts from its local checkpoint")
            return 0
        if is_permanent:
            break
        log(f"{problem}; attempt {attempt} of {RESTORE_ATTEMPTS}")
        time.sleep(RETRY_S)
    return _refuse(folder, "upload-unusable", problem)


def _newest_local(folder: str) -> int:
    """Return the step of the newest complete checkpoint in the folder; -1 for none."""
    steps = local_checkpoints.steps(folder)
    return next((step for step in steps if local_checkpoints.read_complete(folder, step)), -1)


def _restored(uploads: Uploads, folder: Folder, newest: int) -> int:
    begun = time.monotonic()
    step, skipped = uploads.restore(newest)
    for problem in skipped:
        log(f"skipping an upload: {problem}")
    if step is not None:
        log(f"restored the checkpoint of step {step} from its upload")
        events, seconds = _events(folder), time.monotonic() - begun
        events.write("upload_restored", folder.last_generation(), step=step, seconds=seconds)
    return 0


def _events(folder: Folder) -> Events:
    return Events(folder, "uploads", os.environ.get("SLURMD_NODENAME", socket.gethostname()))


def library_message(error: Exception) -> str:
    """Return the message that boto3 cannot be imported, with the command that installs it for this Python."""
    install = f"run {sys.executable} -m pip install boto3"
    return f"checkpoint.upload_to needs boto3 in {sys.executable}: {error}. Fix: {install}"


def _refuse(folder: Folder, code: str, reason: str) -> int:
    """Log and store why the run must not start, without secrets; return EXIT_FAILED."""
    text = without_secrets(f"{reason} (wright explain {code})", os.environ)
    log(text)
    folder.write(REASON, {"code": code, "reason": text})
    return EXIT_FAILED


def main() -> int:
    """Run the action of the command line, `restore` or upload, on the run of argument 2; return the exit code."""
    action, run = sys.argv[1:]
    set_umask(run)
    if action == "restore":
        return restore(run)
    uploader = Uploader(run)
    signal.signal(signal.SIGTERM, lambda *_: uploader.ending.set())
    return uploader.run()


if __name__ == "__main__":
    sys.exit(main())
