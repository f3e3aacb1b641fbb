"""`wright web`: the page of a cluster, and the users who may sign in."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from getpass import getpass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from clusterwright.cli._connection import connection_to, find_cluster
from clusterwright.cli._show import show_message
from clusterwright.errors import EXIT_FAILED, EXIT_OK, EXIT_USAGE, WrightError
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.edge.ssh import Remote
    from clusterwright.monitor.web.actions import ClusterActions
    from clusterwright.monitor.web.app import Site
    from clusterwright.monitor.web.serve import Listener
    from clusterwright.monitor.web.users import Users

_NEEDS = ("starlette", "uvicorn")


@Parameter(name="*")
@dataclass(frozen=True)
class Listens:
    """Where the page is."""

    host: Annotated[
        str,
        Parameter(help="Where it listens; anything but loopback needs TLS, and everyone has to sign in."),
    ] = "127.0.0.1"
    port: Annotated[int, Parameter(help="Its port; 0 for any that is free.")] = 8080
    tls_cert: Annotated[
        Path | None,
        Parameter(help="The certificate: PEM, with all that stand between it and its authority."),
    ] = None
    tls_key: Annotated[Path | None, Parameter(help="The certificate's key: PEM, without a password.")] = None


@Parameter(name="*")
@dataclass(frozen=True)
class Members:
    """Who may sign in."""

    add_user: Annotated[
        str | None,
        Parameter(help="Let this user of Slurm's sign in; the password is asked for, and nothing is served."),
    ] = None
    role: Annotated[
        Literal["viewer", "user", "operator"],
        Parameter(
            help="With --add-user: a viewer looks, a user cancels their own jobs, an operator any, and drains nodes."
        ),
    ] = "viewer"
    remove_user: Annotated[str | None, Parameter(help="Let this user in no more; nothing is served.")] = None
    users: Annotated[
        Path | None, Parameter(help="The file of users; else one in the cluster's state folder.")
    ] = None


DEFAULT_LISTEN, NO_USERS = Listens(), Members()


def web(
    cluster: Path | None = None, /, *, listens: Listens = DEFAULT_LISTEN, members: Members = NO_USERS
) -> int:
    """Serve a page that shows the cluster: nodes, GPUs, jobs, queue, teams, alerts, and how it was before.

    Parameters
    ----------
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    """
    cluster_config = find_cluster(cluster)
    if members.add_user is not None or members.remove_user is not None:
        return _change_users(cluster_config, members)
    return _serve_page(cluster_config, members.users, listens)


def _change_users(cluster: Cluster, members: Members) -> int:
    """A user more or less; 1 where the one to remove is not there."""
    from clusterwright.monitor.web.users import create_user

    users, add, remove = _users(cluster, members.users), members.add_user, members.remove_user
    if remove is not None and not users.remove(remove):
        show_message(_("{path} has no user {remove}", path=users.path, remove=remove))
        return EXIT_FAILED
    if add is not None:
        users.set_user(create_user(add, members.role, _password(add)))
        show_message(
            _("{add} may sign in as {role}; kept in {path}", add=add, role=members.role, path=users.path)
        )
    return EXIT_OK


def _password(name: str) -> str:
    """Asked twice on a terminal; else the first line of what is piped in."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    password = getpass(f"Password for {name}: ")
    if getpass("Once more: ") != password:
        raise WrightError.from_code(
            "web-user", _("the two passwords differ"), _("nothing was changed; try again")
        )
    return password


def _users(cluster: Cluster, file: Path | None) -> Users:
    from clusterwright.edge.secrets import state_folder
    from clusterwright.monitor.web.users import Users

    return Users(file or state_folder(cluster.name) / "web-users.json")


def _serve_page(cluster: Cluster, file: Path | None, listens: Listens) -> int:
    """Listen until interrupted.

    Raises:
        WrightError: it would tell those who should not hear; or a part is missing.
    """
    if missing := [name for name in _NEEDS if find_spec(name) is None]:
        raise WrightError.from_code(
            "web-needs-extra",
            _("the page stands on {missing}, not installed here", missing=" and ".join(missing)),
            _('pip install "clusterwright[web]"'),
            exit_code=EXIT_USAGE,
        )
    from clusterwright.monitor.web.app import application
    from clusterwright.monitor.web.serve import Listener, bound, checked, serve

    users = _users(cluster, file)
    listener = Listener(listens.host, listens.port, listens.tls_cert, listens.tls_key)
    checked(listener, users=bool(users.all()))
    opened = bound(listener)
    with _site(cluster, users, listener) as site:
        show_message(_("wright web: {url} (Ctrl-C ends it)", url=listener.url(opened.getsockname()[1])))
        with suppress(KeyboardInterrupt):
            serve(application(site), listener, opened)
    return EXIT_OK


@contextmanager
def _site(cluster: Cluster, users: Users, listener: Listener) -> Iterator[Site]:
    """The parts of the page put together; the history is closed at the end."""
    from clusterwright.edge.clock import SystemClock
    from clusterwright.edge.secrets import state_folder
    from clusterwright.monitor.gather import gather
    from clusterwright.monitor.web.app import Site
    from clusterwright.monitor.web.feed import Feed
    from clusterwright.monitor.web.guard import Guard
    from clusterwright.monitor.web.history import History
    from clusterwright.monitor.web.sessions import Door, Sessions

    clock, remote = SystemClock(), connection_to(cluster)
    history = History(state_folder(cluster.name) / "web-history.sqlite", clock)
    feed = Feed(cluster.name, partial(gather, cluster, remote), history=history)
    guard = Guard(Sessions(users, clock), tls=listener.tls, open_to_all=listener.loopback)
    with closing(history):
        yield Site(feed, guard, Door(users, clock), _cluster_actions(cluster, remote))


def _cluster_actions(cluster: Cluster, remote: Remote) -> ClusterActions:
    """The same way that commands take, as root where Slurm wants it."""
    from clusterwright.edge.clock import SystemClock
    from clusterwright.edge.host import AsRoot
    from clusterwright.edge.secrets import state_folder
    from clusterwright.launch.run import runs_folder
    from clusterwright.monitor.gather.gather import control_remote
    from clusterwright.monitor.web.actions import ClusterActions

    return ClusterActions(
        AsRoot(control_remote(cluster, remote)),
        cluster.control.name,
        runs_folder(cluster) if cluster.shared_folder else "",
        state_folder(cluster.name) / "web-acts.jsonl",
        SystemClock(),
    )
