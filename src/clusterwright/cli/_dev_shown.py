"""What `wright dev` says while it waits, and the way to a session that is up."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright.cli._show import say, show_json, show_text
from clusterwright.units import format_duration

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.launch.dev import Asked, Reach, Wish

_NO_START = ("N/A", "")


def told(event: Mapping[str, Any]) -> None:
    """Progress, on stderr."""
    kind = event["event"]
    if kind == "submitted":
        say(f"job {event['job']} is submitted")
    elif kind == "joined":
        say(f"job {event['job']} is there already, and joined; --new begins another one")
    elif kind == "queue" and event["state"] == "PENDING":
        start = event["start"]
        when = "" if start in _NO_START else f"; Slurm expects it to start at {start}"
        say(f"job {event['job']} waits: {event['why']}{when}")
    elif kind == "queue" and event["state"] == "CONFIGURING":
        say(f"a host is started for job {event['job']}")
    elif kind == "queue":
        say(f"job {event['job']} runs on {event['host']}")


def show(asked: Asked, cluster: Cluster, wish: Wish, *, key: Path, json: bool, tunnel: bool) -> int:
    """What to copy on stdout; then, where it is wished, the tunnel or the shell itself."""
    from clusterwright.launch.dev import reach
    from clusterwright.onhost.dev import ports

    hosts = key.parent.parent / "known_hosts"
    way = reach(
        asked, cluster, local_port=ports.free(wish.port or asked.port), key=str(key), hosts=str(hosts)
    )
    if way.ssh_block:
        hosts.write_text(f"wright-dev-{asked.job} {asked.host_key}\n", encoding="utf-8")
        hosts.with_name("ssh_config").write_text(way.ssh_block, encoding="utf-8")
    if json:
        show_json({**asdict(asked), **asdict(way)})
    else:
        _talk(asked, way, wish, hosts.with_name("ssh_config"))
    return _go(way, json=json, tunnel=tunnel)


def _talk(asked: Asked, way: Reach, wish: Wish, config: Path) -> None:
    for note in asked.notes:
        say(f"note: {note}")
    if asked.joined and asked.gpus.count(",") + bool(asked.gpus) != wish.gpus:
        say(f"note: it has other GPUs than were asked for: {asked.gpus or 'none'}; --new begins another one")
    if way.tunnel:
        say("on your machine, and left open:")
        show_text(shlex.join(way.tunnel))
        say("then in a browser there (who has this address is you, so keep it to yourself):")
        show_text(way.url)
    if way.ssh_block:
        say(f"for ~/.ssh/config; or once: Include {config}")
        show_text(way.ssh_block)
        say(f"then: ssh wright-dev-{asked.job}, or `Remote-SSH: Connect to Host` in VS Code")
    if way.shell:
        show_text(shlex.join(way.shell))
    idle = format_duration(asked.idle_s)
    say(f"it ends when nobody has worked in it for {idle}; or: wright dev stop {asked.job}")


def _go(way: Reach, *, json: bool, tunnel: bool) -> int:
    """Ctrl-C ends the tunnel, and not the session."""
    from clusterwright.edge.terminal import hand_over

    if way.tunnel and tunnel:
        return hand_over(way.tunnel)
    if way.shell and not json and sys.stdin.isatty() and sys.stdout.isatty():
        return hand_over(way.shell)
    return 0
