"""A session begun or joined, listed, stopped: one ssh to the control host, which follows the queue from there."""

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
from clusterwright.edge.host import as_user
from clusterwright.edge.ssh import Ssh
from clusterwright.edge.talk import Talk
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.launch.dev.options import SessionOptions
from clusterwright.launch.dev.script import script
from clusterwright.launch.run import runs_folder

Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Session:
    """A session that is up."""

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
    """Somebody pressed Ctrl-C while waiting; `job` is what has become of the job, in words."""

    def __init__(self, outcome: str) -> None:
        super().__init__(outcome)
        self.outcome = outcome


def begin(
    options: SessionOptions,
    cluster: Cluster,
    connection: Ssh,
    *,
    on_event: Callable[[Event], None] = lambda _event: None,
    wait_s: int | None = None,
    public_key: str = "",
    new: bool = False,
) -> Session | None:
    """The session, up; None if it still waits after `wait_s`.

    Raises:
        WrightError: the cluster does not have it, Slurm refuses, or it did not come up.
        Left: by Ctrl-C; a job of ours that was not up yet is gone from the queue.
    """
    session = f"{options.kind}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    request = {
        "do": "begin", "kind": options.kind, "session": session, "wait_s": wait_s, "new": new,
        "files": _files(options, script(options, cluster), public_key),
    }  # fmt: skip
    joined, user = False, ""
    for event in _talk(cluster, connection, options.user, request):
        on_event(event)
        joined = joined or event["event"] == "joined"
        user = event.get("user", user)
        if event["event"] == "up":
            return _session(event, user, joined=joined)
    return None


def _files(options: SessionOptions, text: str, public_key: str) -> dict[str, str]:
    """What lies in the session's folder, where nobody else looks in."""
    settings = {
        "kind": options.kind, "python": options.python, "idle_s": options.idle_s, "folder": options.folder,
        "port": options.port,
    }  # fmt: skip
    return {
        "job.sh": text,
        "wish.json": json.dumps(settings),
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


def listed(cluster: Cluster, connection: Ssh, *, user: str | None = None) -> list[dict[str, str]]:
    """The sessions in the queue: the user's, or everybody's for root.

    Raises:
        WrightError: the control host does not answer.
    """
    request = {"do": "list", "everybody": user is None}
    return next(event["rows"] for event in _talk(cluster, connection, user, request, root=True))


def stop(job: str, cluster: Cluster, connection: Ssh, *, user: str | None = None) -> list[str]:
    """The jobs that were ended: this one, or `all` of the user's.

    Raises:
        WrightError: there is no such session, or the control host does not answer.
    """
    request = {"do": "stop", "job": job, "everybody": user is None and job != "all"}
    return next(event["jobs"] for event in _talk(cluster, connection, user, request, root=True))


def _talk(
    cluster: Cluster, connection: Ssh, user: str | None, request: dict[str, Any], *, root: bool = False
) -> Iterator[Event]:
    """Its answers, the last one included; a failure is raised."""
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
            slurm.submitted(talk.result(), host, user)  # raises: there is no job id in it


def _command(runs: str, user: str | None, *, root: bool) -> str:
    """As the session's user; root may list and stop for everybody."""
    python = f"exec {program_command()}"
    if root and user is None:
        return python
    # Everybody's runs lie side by side, and each belongs to its user: as in /tmp (mode 1777).
    shared = f'[ "$(id -u)" != 0 ] || [ -d {shlex.quote(runs)} ] || install -d -m 1777 {shlex.quote(runs)}; '
    return shared + as_user(f"mkdir -p {shlex.quote(runs)} && {python}", user)


def _events(talk: Talk) -> Iterator[Event]:
    for line in talk.lines():
        event = json.loads(line)
        if event["event"] in ("failed", "ended"):
            raise _failed(event)
        yield event


def _failed(event: Event) -> WrightError:
    if event["event"] == "ended":
        return WrightError.from_code(
            "dev-did-not-start",
            _("job {event} has just ended: {event2}", event=event["job"], event2=event["reason"]),
            _("run it again"),
        )
    location = f"job {event['job']} on {event['host']}: " if "host" in event else ""
    return WrightError.from_code(event["code"], f"{location}{event['message']}", event["fix"])


def _describe_outcome(events: list[Event]) -> str:
    """What has become of the job, as the control host says it."""
    last = events[-1] if events else {}
    if last.get("event") == "cancelled":
        return f"job {last['job']} was taken out of the queue"
    if "job" in last:
        return f"job {last['job']} goes on; `wright dev` joins it, `wright dev stop {last['job']}` ends it"
    return "nothing was submitted"
