"""Progress and connection instructions of `wright dev`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright.cli._show import show_json, show_message, show_note, show_verbatim
from clusterwright.i18n import _
from clusterwright.units import human_duration

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.launch.dev import DevReach, Session, SessionOptions

_NO_START = ("N/A", "")


def show_event(event: Mapping[str, Any]) -> None:
    """Print a progress event of a session's job as a sentence on stderr; events that tell nothing new print nothing."""
    kind, job = event["event"], event.get("job", "")
    if kind == "submitted":
        show_message(_("job {id} submitted", id=job))
    elif kind == "joined":
        show_message(_("joined running job {id}; --new starts another one", id=job))
    elif kind == "queue" and event["state"] == "PENDING":
        start, reason = event["start"], event["reason"]
        show_message(
            _("job {id} is pending: {reason}", id=job, reason=reason)
            if start in _NO_START
            else _(
                "job {id} is pending: {reason}; Slurm expects to start it at {time}",
                id=job,
                reason=reason,
                time=start,
            )
        )
    elif kind == "queue" and event["state"] == "CONFIGURING":
        show_message(_("a host is booting for job {id}", id=job))
    elif kind == "queue":
        show_message(_("job {id} runs on {host}", id=job, host=event["host"]))


def show(
    session: Session,
    cluster: Cluster,
    session_options: SessionOptions,
    *,
    key: Path,
    json: bool,
    tunnel: bool,
) -> int:
    """Print on stdout how to connect to a session; then open the tunnel or the shell; return the exit code.

    For an editor, its SSH configuration is written. See `_open_connection` for what is opened.
    """
    from clusterwright.launch.dev import reach
    from clusterwright.onhost.dev import ports

    hosts = key.parent.parent / "known_hosts"
    connection = reach(
        session,
        cluster,
        local_port=ports.free(session_options.port or session.port),
        key=str(key),
        hosts=str(hosts),
    )
    if connection.ssh_block:
        hosts.write_text(f"wright-dev-{session.job} {session.host_key}\n", encoding="utf-8")
        hosts.with_name("ssh_config").write_text(connection.ssh_block, encoding="utf-8")
    if json:
        show_json({**asdict(session), **asdict(connection)})
    else:
        _talk(session, connection, session_options, hosts.with_name("ssh_config"))
    return _open_connection(connection, json=json, tunnel=tunnel)


def _talk(session: Session, connection: DevReach, session_options: SessionOptions, config: Path) -> None:
    for note in session.notes:
        show_note(note)
    gpus = session.gpus.count(",") + bool(session.gpus)
    if session.joined and gpus != session_options.gpus:
        show_note(
            _(
                "the running session has {gpus} GPUs, not {requested}; --new starts another one",
                gpus=gpus,
                requested=session_options.gpus,
            )
        )
    if connection.tunnel:
        show_message(_("run this command on your machine and leave it running:"))
        show_verbatim(shlex.join(connection.tunnel))
        show_message(
            _("then open this address in a browser there (keep it secret: it grants access to the session):")
        )
        show_verbatim(connection.url)
    if connection.ssh_block:
        show_message(_("add these lines to ~/.ssh/config, or add `Include {file}` once", file=config))
        show_verbatim(connection.ssh_block)
        show_message(
            _("then: ssh wright-dev-{job}, or `Remote-SSH: Connect to Host` in VS Code", job=session.job)
        )
    if connection.shell:
        show_verbatim(shlex.join(connection.shell))
    show_message(
        _(
            "the session ends after {idle} without activity, or with: wright dev stop {job}",
            idle=human_duration(session.idle_s),
            job=session.job,
        )
    )


def _open_connection(connection: DevReach, *, json: bool, tunnel: bool) -> int:
    """Run the tunnel or shell of a session and return its exit code; Ctrl-C leaves the session running.

    The tunnel only with `tunnel`, the shell only on a terminal and without `json`; else return 0 at once.
    """
    from clusterwright.edge.terminal import run_interactive

    if connection.tunnel and tunnel:
        return run_interactive(connection.tunnel)
    if connection.shell and not json and sys.stdin.isatty() and sys.stdout.isatty():
        return run_interactive(connection.shell)
    return 0
