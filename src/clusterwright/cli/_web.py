"""`wright web`: its users, and the page put together."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial
from getpass import getpass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.cli._show import say
from clusterwright.cli._there import way_to
from clusterwright.edge.clock import SystemClock
from clusterwright.edge.secrets import state_folder
from clusterwright.errors import EXIT_DONE, EXIT_FAILED, EXIT_USAGE, WrightError
from clusterwright.monitor.web.serve import Listener, bound, checked, serve
from clusterwright.monitor.web.users import Users, made

if TYPE_CHECKING:
    from clusterwright.cli._web_typed import Listens, Members
    from clusterwright.config.cluster import Cluster
    from clusterwright.edge.ssh import Remote
    from clusterwright.monitor.web.acts import Hands

_NEEDS = ("starlette", "uvicorn")


def change_users(cluster: Cluster, members: Members) -> int:
    """A user more or less; 1 where the one to remove is not there."""
    users, add, remove = _users(cluster, members.users), members.add_user, members.remove_user
    if remove is not None and not users.remove(remove):
        say(f"{users.path} has no user {remove}")
        return EXIT_FAILED
    if add is not None:
        users.put(made(add, members.role, _password(add)))
        say(f"{add} may sign in as {members.role}; kept in {users.path}")
    return EXIT_DONE


def _password(name: str) -> str:
    """Asked twice on a terminal; else the first line of what is piped in."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    first = getpass(f"Password for {name}: ")
    if getpass("Once more: ") != first:
        raise WrightError.of("web-user", "the two passwords differ", "nothing was changed; try again")
    return first


def _users(cluster: Cluster, file: Path | None) -> Users:
    return Users(file or state_folder(cluster.name) / "web-users.json")


def serve_page(cluster: Cluster, file: Path | None, listens: Listens) -> int:
    """Listen until interrupted.

    Raises:
        WrightError: it would tell those who should not hear; or a part is missing.
    """
    if missing := [name for name in _NEEDS if find_spec(name) is None]:
        raise WrightError.of(
            "web-needs-extra",
            f"the page stands on {' and '.join(missing)}, not installed here",
            'pip install "clusterwright[web]"',
            exit_code=EXIT_USAGE,
        )
    users = _users(cluster, file)
    listener = Listener(listens.host, listens.port, listens.tls_cert, listens.tls_key)
    checked(listener, users=bool(users.all()))
    opened = bound(listener)
    from clusterwright.monitor.gather import gather
    from clusterwright.monitor.web.app import Site, application
    from clusterwright.monitor.web.feed import Feed
    from clusterwright.monitor.web.guard import Guard
    from clusterwright.monitor.web.history import History
    from clusterwright.monitor.web.sessions import Door, Sessions

    clock, remote = SystemClock(), way_to(cluster)
    history = History(state_folder(cluster.name) / "web-history.sqlite", clock)
    feed = Feed(cluster.name, partial(gather, cluster, remote), history=history)
    guard = Guard(Sessions(users, clock), tls=listener.tls, open_to_all=listener.loopback)
    site = Site(feed, guard, Door(users, clock), _hands(cluster, remote))
    say(f"wright web: {listener.url(opened.getsockname()[1])} (Ctrl-C ends it)")
    try:
        with suppress(KeyboardInterrupt):
            serve(application(site), listener, opened)
    finally:
        history.close()
    return EXIT_DONE


def _hands(cluster: Cluster, remote: Remote) -> Hands:
    """The same way that commands take, as root where Slurm wants it."""
    from clusterwright.edge.host import AsRoot
    from clusterwright.launch.run import runs_folder
    from clusterwright.monitor.gather.gather import way
    from clusterwright.monitor.web.acts import Hands

    return Hands(
        AsRoot(way(cluster, remote)),
        cluster.control.name,
        runs_folder(cluster) if cluster.shared_folder else "",
        state_folder(cluster.name) / "web-acts.jsonl",
        SystemClock(),
    )
