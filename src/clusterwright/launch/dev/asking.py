"""Start, join, list and stop sessions: one ssh to a program on the control host that follows the queue there."""

from __future__ import annotations

import json
import secrets
import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.config.cluster import Cluster
from clusterwright.edge import slurm
from clusterwright.edge.bundler import (
    DEV_REQUESTS,
    DEV_SESSION,
    bundle_script,
    program_command,
    program_input,
)
from clusterwright.edge.host import Host, as_user
from clusterwright.edge.ssh import Connection
from clusterwright.edge.talk import Talk
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.launch.dev.options import SessionOptions
from clusterwright.launch.dev.script import script
from clusterwright.launch.run import runs_folder
from clusterwright.launch.unmanaged.library import install_library
from clusterwright.onhost.lib.safe_reader import parse_object

Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Session:
    """A session whose server or shell is ready: its Slurm job, host and, for a server, port and token."""

    job: str
    kind: str
    user: str
    host: str
    gpus: str
    idle_s: int
    joined: bool
    port: int = 0
    token: str = ""
    host_key: str = ""
    notes: tuple[str, ...] = ()


class WaitInterrupted(KeyboardInterrupt):
    """Ctrl-C during the wait; `outcome` describes the job's state."""

    def __init__(self, outcome: str) -> None:
        super().__init__(outcome)
        self.outcome = outcome


def begin(
    options: SessionOptions,
    cluster: Cluster,
    connection: Connection,
    *,
    on_event: Callable[[Event], None] = lambda _event: None,
    wait_s: int | None = None,
    public_key: str = "",
    new: bool = False,
) -> Session | None:
    """Start or join an interactive session and wait until it is ready; return None if still pending after `wait_s`.

    `on_event` is called with each event. `new`: do not join a session that runs.

    Raises:
        WrightError: the cluster lacks the resources, Slurm rejects the job, or the session did not start.
        WaitInterrupted: by Ctrl-C; a pending job of this call is canceled.
    """
    session = f"{options.kind}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    request = {
        "do": "begin", "kind": options.kind, "session": session, "wait_s": wait_s, "new": new,
        "files": _files(options, script(options, cluster), public_key),
    }  # fmt: skip
    if cluster.unmanaged:
        install_library(Host(connection, cluster.control.name), runs_folder(cluster))
    joined, user = False, ""
    for event in _talk(cluster, connection, options.user, request):
        on_event(event)
        joined = joined or event["event"] == "joined"
        user = event.get("user", user)
        if event["event"] == "up":
            return _session(event, user, joined=joined)
    return None


def _files(options: SessionOptions, text: str, public_key: str) -> dict[str, str]:
    """Return the texts of the files in a session's folder by name: job script `text`, request, program and key."""
    settings = {
        "kind": options.kind, "python": options.python, "idle_s": options.idle_s, "folder": options.folder,
        "port": options.port,
    }  # fmt: skip
    return {
        "job.sh": text,
        "request.json": json.dumps(settings),
        "hold.py": bundle_script(DEV_SESSION).decode(),
        "said.jsonl": "",
        "authorized_keys": public_key,
    }


def _session(event: Event, user: str, *, joined: bool) -> Session:
    return Session(
        event["job"],
        event["kind"],
        user,
        event["host"],
        event["gpus"],
        int(event["idle_s"]),
        joined,
        event.get("port", 0),
        event.get("token", ""),
        event.get("host_key", ""),
        tuple(event["notes"]),
    )


def listed(cluster: Cluster, connection: Connection, *, user: str | None = None) -> list[dict[str, str]]:
    """Return the sessions in Slurm's queue: of the user, or without one of all users for root.

    Raises:
        WrightError: the control host does not answer.
    """
    request = {"do": "list", "everybody": user is None}
    return next(event["rows"] for event in _talk(cluster, connection, user, request, root=True))


def stop(job: str, cluster: Cluster, connection: Connection, *, user: str | None = None) -> list[str]:
    """Stop a session by job id, or `all` of the user; return the ids of the stopped jobs.

    Raises:
        WrightError: the session does not exist, or the control host does not answer.
    """
    request = {"do": "stop", "job": job, "everybody": user is None and job != "all"}
    return next(event["jobs"] for event in _talk(cluster, connection, user, request, root=True))


def _talk(
    cluster: Cluster, connection: Connection, user: str | None, request: dict[str, Any], *, root: bool = False
) -> Iterator[Event]:
    """Send a request for a session to the program on the control host, and yield its events as they come.

    Raises:
        WrightError: the program fails, or its output has no event.
        WaitInterrupted: by Ctrl-C.
    """
    host, ended = cluster.control.name, False
    with Talk(connection.argv(host, _command(runs_folder(cluster), user, root=root))) as talk:
        order = json.dumps({**request, "runs": runs_folder(cluster)})
        talk.send(program_input(DEV_REQUESTS) + order.encode() + b"\n")
        try:
            for event in _events(talk):
                ended = True
                yield event
        except KeyboardInterrupt:
            talk.close_stdin()
            raise WaitInterrupted(_describe_outcome(list(_events(talk)))) from None
        if not ended:
            slurm.submitted(talk.result(), host, user)  # raises an error: the output has no job id


def _command(runs: str, user: str | None, *, root: bool) -> str:
    """Return the shell line that runs the program as the session's user, or as root to list and stop for all users."""
    python = f"exec {program_command()}"
    if root and user is None:
        return python
    # All users create runs in this folder, and each run belongs to its user: mode 1777, as for /tmp.
    shared = f'[ "$(id -u)" != 0 ] || [ -d {shlex.quote(runs)} ] || install -d -m 1777 {shlex.quote(runs)}; '
    return shared + as_user(f"mkdir -p {shlex.quote(runs)} && {python}", user)


def _events(talk: Talk) -> Iterator[Event]:
    for line in talk.lines():
        event = parse_object(line)
        if event.get("event") in ("failed", "ended"):
            raise _failed(event)
        if "event" in event:
            yield event


def _failed(event: Event) -> WrightError:
    if event["event"] == "ended":
        message = _("job {job} has just ended: {reason}", job=event["job"], reason=event["reason"])
        return WrightError.from_code("dev-did-not-start", message, _("run the command again"))
    message = event["message"]
    if "host" in event:
        message = _("job {job} on {host}: {message}", job=event["job"], host=event["host"], message=message)
    return WrightError.from_code(event["code"], message, event["fix"])


def _describe_outcome(events: list[Event]) -> str:
    """Return the state of the job after an interrupt, as a text."""
    last = events[-1] if events else {}
    if last.get("event") == "cancelled":
        return _("job {job} was canceled", job=last["job"])
    if "job" in last:
        return _(
            "job {job} continues; join it with `wright dev`, or stop it with `wright dev stop {job}`",
            job=last["job"],
        )
    return _("no job was submitted")
