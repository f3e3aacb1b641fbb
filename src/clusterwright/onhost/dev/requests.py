"""Start or join a session, wait for it, list and stop sessions; runs on the control host as the session's user.

The request is one line of stdin; the end of stdin means that the client has disconnected.
"""

from __future__ import annotations

import getpass
import json
import os
import select
import shutil
import sys
import tempfile
import time
from typing import Any, Dict, List, Optional, Set

from clusterwright.onhost.dev.events import Trouble, read_events
from clusterwright.onhost.lib import processes
from clusterwright.onhost.lib.files import is_own_folder
from clusterwright.slurm.records import split_lines
from clusterwright.slurm.states import is_allocated, is_pending

POLL_INTERVAL_S = 0.2
SLURM_S = 30
NAME = "wright-dev-"
MAX_OLD_SESSIONS = 3  # number of ended sessions whose folders (logs) are kept
_COLUMNS = ("%i", "%u", "%T", "%M", "%l", "%j", "%Z", "%S", "%B", "%r")


def main() -> int:
    """Execute the request for a session on stdin (begin, list, stop); return the exit code, 1 after a failure.

    Each answer, also a failure, is a line of JSON on stdout.
    """
    request = json.loads(sys.stdin.readline())
    os.umask(0o077)
    try:
        return {"begin": begin, "list": show, "stop": stop}[request["do"]](request)
    except Trouble as error:
        emit_event("failed", code=error.code, message=error.message, fix=error.fix)
        return 1


def emit_event(event: str, **more: Any) -> None:
    """Send an event to the client, as a line of JSON on stdout."""
    sys.stdout.write(json.dumps({"event": event, **more}) + "\n")
    sys.stdout.flush()


def begin(request: Dict[str, Any]) -> int:
    """Join the user's newest session of this kind, or with `new` or without one submit a job; wait until it runs.

    Events tell the client what happens. Return the exit code: 0 once it is up, or at the wait's end, 1 after a failure.
    """
    base = user_folder(request["runs"])
    rows = queued()
    sessions = [row for row in rows if row["kind"] == request["kind"]]
    if sessions and not request["new"]:
        job, ours = sessions[-1], False
        let_in(job["folder"], request["files"]["authorized_keys"])
    else:
        tidy(base, {row["folder"] for row in rows})
        session = os.path.join(base, request["session"])
        job, ours = {"job": submit(session, request["files"]), "folder": session}, True
    try:
        emit_event(
            "submitted" if ours else "joined", job=job["job"], session=job["folder"], user=getpass.getuser()
        )
        return WaitingRequest(job["job"], job["folder"], request["wait_s"], ours=ours).wait()
    except BrokenPipeError:
        if ours:
            run_slurm("scancel", job["job"])
        return 1


def let_in(session: str, key: str) -> None:
    """Add the key of another machine of the same user to a running session, unless it is there.

    Does nothing if the file of keys cannot be read or written.
    """
    try:
        with open(os.path.join(session, "authorized_keys"), "r+", encoding="utf-8") as file:
            if key not in file.read():
                file.write(key)
    except OSError:  # the disk is full or the session has just ended: ssh will report that access is denied
        return


def user_folder(runs: str) -> str:
    """Return the private folder of the user's sessions, beside the folder of runs: `dev-USER`; create it if needed.

    If another user has taken that name, it is one with a random end, found again by its owner.

    Raises:
        Trouble: the folder cannot be created.
    """
    path = os.path.join(runs, f"dev-{getpass.getuser()}")
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except FileExistsError:  # a file or a broken link
        pass
    except OSError as error:
        raise write_error(path, error) from error
    try:
        if not is_own_folder(path):
            names = sorted(name for name in os.listdir(runs) if name.startswith(os.path.basename(path) + "-"))
            ours = [os.path.join(runs, name) for name in names if is_own_folder(os.path.join(runs, name))]
            path = ours[0] if ours else tempfile.mkdtemp(prefix=path + "-")
        os.chmod(path, 0o700)
    except OSError as error:
        raise write_error(path, error) from error
    return path


def write_error(path: str, reason: OSError) -> Trouble:
    """Return the error for the user after a failed write to the path."""
    return Trouble(
        "dev-no-room",
        f"cannot write to {path}: {reason.strerror}",
        "free space there, or ask an administrator to raise the quota",
    )


def tidy(base: str, alive: Set[str]) -> None:
    """Delete the folders of ended sessions (those not in `alive`), except the newest MAX_OLD_SESSIONS."""
    sessions = [os.path.join(base, name) for name in os.listdir(base) if name != "home"]
    over = sorted((path for path in sessions if path not in alive), key=os.path.getmtime)
    for path in over[: len(over) - MAX_OLD_SESSIONS] if len(over) > MAX_OLD_SESSIONS else []:
        shutil.rmtree(path, ignore_errors=True)


def submit(session: str, files: Dict[str, str]) -> str:
    """Create the session's folder with these files, submit its job and return the job id.

    Raises:
        Trouble: sbatch refused the job, whose folder is removed, or the folder cannot be written.
    """
    try:
        os.mkdir(session, 0o700)
        for name, text in files.items():
            with open(os.path.join(session, name), "x", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        shutil.rmtree(session, ignore_errors=True)
        raise write_error(session, error) from error
    result = processes.run(
        ["sbatch", "--parsable", f"--chdir={session}", f"--output={session}/job.out", f"{session}/job.sh"]
    )
    if not result.ok:
        shutil.rmtree(session, ignore_errors=True)
        output = " ".join((result.err or result.stopped).split())
        raise Trouble(
            "slurm-said",
            f"sbatch exited with code {result.code}: {output}",
            "correct what Slurm reports; nothing was submitted",
        )
    return split_lines(result.out.strip())[-1].partition(";")[0]


def run_slurm(*argv: str) -> Optional[str]:
    """Run a Slurm command; return its output, None if it failed."""
    result = processes.run(argv, SLURM_S)
    return result.out if result.ok else None


def queued(*, everybody: bool = False) -> List[Dict[str, str]]:
    """Return the user's sessions in Slurm's queue, oldest first; with `everybody`, for root, those of all users.

    Raises:
        Trouble: squeue failed.
    """
    user_filter = [] if everybody and os.geteuid() == 0 else [f"--user={getpass.getuser()}"]
    text = run_slurm("squeue", "--noheader", f"--format={'|'.join(_COLUMNS)}", *user_filter)
    if text is None:
        raise Trouble("slurm-said", "squeue failed", "check that slurmctld runs: systemctl status slurmctld")
    keys = ("job", "user", "state", "elapsed", "limit", "name", "folder", "start", "host", "reason")
    lines = [line.split("|", len(keys) - 1) for line in split_lines(text)]
    rows = [dict(zip(keys, line)) for line in lines if len(line) == len(keys)]
    sessions = [
        {**row, "kind": row["name"][len(NAME) :], "reason": row["reason"].replace("None", "")}
        for row in rows
        if (is_pending(row["state"]) or is_allocated(row["state"])) and row["name"].startswith(NAME)
    ]
    return sorted(sessions, key=lambda row: int(row["job"]))


class WaitingRequest:
    """Waits for a session to start and sends the client each change of its state once."""

    def __init__(self, job: str, session: str, wait_s: Optional[float], *, ours: bool) -> None:
        self.job, self.session, self.ours = job, session, ours
        self.began = time.monotonic()
        self.deadline = None if wait_s is None else self.began + wait_s
        self.following = 0.0
        self.reported_state: Any = ()

    def wait(self) -> int:
        """Wait until the session is up, has failed, the client has left, or time is over; return the exit code.

        0 if it is up, or still pending at the end of the time; else 1.
        """
        while True:
            for line in read_events(self.session):
                if line["event"] in ("up", "failed", "ended"):
                    emit_event(**{"job": self.job, **line})
                    return 0 if line["event"] == "up" else 1
            if time.monotonic() >= self.following and not self.queue():
                return self.report_ended()
            if self.has_client_disconnected(POLL_INTERVAL_S):
                return self.abandon()
            if self.deadline is not None and time.monotonic() > self.deadline:
                emit_event("waiting", job=self.job)
                return 0

    def queue(self) -> bool:
        """Poll Slurm for the session's job, less often the longer it takes; return False if the job has ended."""
        waited = time.monotonic() - self.began
        self.following = time.monotonic() + min(10.0, max(1.0, waited / 10))
        try:
            row = next((entry for entry in queued() if entry["job"] == self.job), None)
        except Trouble:  # a slurmctld that does not respond has not lost the job
            return True
        if row is None:
            return False
        now = (
            (row["state"], row["host"])
            if row["state"] == "RUNNING"
            else (row["state"], row["reason"], row["start"])
        )
        if now != self.reported_state and (row["state"] != "PENDING" or row["reason"]):
            self.reported_state = now
            emit_event("queue", **row)
        return True

    def report_ended(self) -> int:
        """Report to the client that the session's job has ended, by its last event if it wrote one; return 1."""
        time.sleep(1)
        last = [line for line in read_events(self.session) if line["event"] in ("up", "failed", "ended")]
        if last:
            emit_event(**{"job": self.job, **last[-1]})
            return 1
        emit_event(
            "failed",
            code="dev-did-not-start",
            message=f"job {self.job} ended before the session was up: {self.end()}",
            fix=f"see {self.session}/job.out",
        )
        return 1

    def end(self) -> str:
        """Return the last three lines of the session job's output, joined; `no output` if the file cannot be read."""
        try:
            with open(os.path.join(self.session, "job.out"), encoding="utf-8") as file:
                return " | ".join(file.read().strip().splitlines()[-3:])
        except OSError:
            return "no output"

    def has_client_disconnected(self, seconds: float) -> bool:
        """Wait so many seconds; return True at once if the client disconnects."""
        ready, _, _ = select.select([sys.stdin], [], [], seconds)
        return bool(ready) and not os.read(sys.stdin.fileno(), 4096)

    def abandon(self) -> int:
        """Stop waiting, as the client has left: cancel the session's job if this request submitted it; return 1."""
        if self.ours:
            run_slurm("scancel", self.job)
        emit_event("cancelled" if self.ours else "left", job=self.job)
        return 1


def show(request: Dict[str, Any]) -> int:
    """Send the client the user's sessions, for root on request those of all users; return 0."""
    emit_event("sessions", rows=queued(everybody=request["everybody"]))
    return 0


def stop(request: Dict[str, Any]) -> int:
    """Cancel the job of one session, or of all the user's sessions (`all`), and report the job ids; return 0.

    Raises:
        Trouble: there is no such session.
    """
    rows = queued(everybody=request["everybody"])
    chosen = [row["job"] for row in rows if request["job"] in ("all", row["job"])]
    if not chosen:
        job_list = ", ".join(row["job"] for row in rows) or "none"
        raise Trouble(
            "dev-no-session",
            f"there is no session {request['job']}; sessions: {job_list}",
            "list the sessions: wright dev list",
        )
    run_slurm("scancel", *chosen)
    emit_event("stopped", jobs=chosen)
    return 0
