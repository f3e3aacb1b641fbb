"""The job of a session: starts the requested server, reports its address, and ends when the session is idle."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from typing import Any, Dict, List, Union

from clusterwright.onhost.dev.events import FILE, Trouble, append_event
from clusterwright.onhost.dev.jupyter import Jupyter
from clusterwright.onhost.dev.sshd import Sshd
from clusterwright.onhost.dev.work import DevWork


class Shell:
    """A session without a server: shells join the allocation by srun."""

    def __init__(self, folder: str, request: Dict[str, Any]) -> None:
        self.folder, self.request = folder, request
        self.notes: List[str] = []

    def start(self) -> None:
        """Do nothing: a session for shells has no server."""

    def facts(self) -> Dict[str, Any]:
        """Return no facts for the user: there is no server."""
        return {}

    def active(self, _now: float) -> float:
        """Return 0: the activity of shells shows in CPU time and terminals."""
        return 0.0

    def alive(self) -> bool:
        """Return True: the session lasts as long as the job."""
        return True

    def stop(self) -> None:
        """Do nothing: a session for shells has no server."""


KINDS: Dict[str, Any] = {"jupyter": Jupyter, "vscode": Sshd, "shell": Shell}
MAX_POLL_INTERVAL_S = 30.0  # a tenth of the idle time, at most this
BEAT_S = 0.5
TERMINATED = 143
Server = Union[Jupyter, Sshd, Shell]


def main() -> int:
    """Run the session whose folder is the argument, as its `request.json` asks, until it is idle or stopped.

    Return 1 after a trouble, else 0; either way, delete its runtime files and write the last event.
    """
    folder = sys.argv[1]
    os.umask(0o077)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    with open(os.path.join(folder, "request.json"), encoding="utf-8") as file:
        request = json.load(file)
    server: Server = KINDS[request["kind"]](folder, request)
    last: Dict[str, Any] = {"event": "ended", "reason": "stopped, or time limit reached"}
    try:
        server.start()
        append_event(folder, "up", **_about(request), notes=server.notes, **server.facts())
        last["reason"] = _wait_until_idle(server, request["idle_s"])
    except Trouble as error:
        last = {
            "event": "failed",
            "code": error.code,
            "message": error.message,
            "fix": error.fix,
            "host": _host(),
        }
    finally:
        server.stop()
        _forget(folder)
        append_event(folder, **last)
    return int(last["event"] == "failed")


def _forget(folder: str) -> None:
    """Delete the session's runtime files and events, which contain secrets; the log stays."""
    shutil.rmtree(os.path.join(folder, "runtime"), ignore_errors=True)
    with open(os.path.join(folder, FILE), "w", encoding="utf-8"):
        pass


def _about(request: Dict[str, Any]) -> Dict[str, Any]:
    gpus = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return {"host": _host(), "gpus": gpus, "idle_s": request["idle_s"], "kind": request["kind"]}


def _host() -> str:
    """Return this host's name in Slurm; outside of Slurm its own."""
    return os.environ.get("SLURMD_NODENAME") or os.uname().nodename


def _wait_until_idle(server: Server, idle_s: float) -> str:
    """Wait until the server ends or the session was idle for `idle_s`; return the reason."""
    work = DevWork(os.environ.get("SLURM_JOB_ID", ""), time.time())
    poll_interval_s = max(BEAT_S, min(MAX_POLL_INTERVAL_S, idle_s / 10))
    following, active = time.monotonic() + poll_interval_s, 0.0
    while server.alive():
        time.sleep(BEAT_S)
        if time.monotonic() < following:
            continue
        following = time.monotonic() + poll_interval_s
        now = time.time()
        if work.poll(now, active) >= idle_s:
            return f"idle for {idle_s:.0f} s"
        active = server.active(now)  # after the poll, since a server that handles a query counts as running
    return "the server was shut down"


if __name__ == "__main__":
    sys.exit(main())
