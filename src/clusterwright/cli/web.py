"""`wright web`: serve the web page of a cluster, and manage the users who may sign in."""

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
from clusterwright.cli._numbers import Port
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
    """The address and TLS files of the page."""

    host: Annotated[
        str,
        Parameter(help="Address to listen on; other addresses than loopback require TLS and sign-in."),
    ] = "127.0.0.1"
    port: Annotated[Port, Parameter(help="Port to listen on; 0: any free port.")] = 8080
    tls_cert: Annotated[
        Path | None,
        Parameter(help="TLS certificate in PEM, with its intermediate certificates."),
    ] = None
    tls_key: Annotated[
        Path | None, Parameter(help="Private key of the certificate in PEM, without a passphrase.")
    ] = None


@Parameter(name="*")
@dataclass(frozen=True)
class Members:
    """The users who may sign in."""

    add_user: Annotated[
        str | None,
        Parameter(help="Allow this Slurm user to sign in, ask for a password, and exit."),
    ] = None
    role: Annotated[
        Literal["viewer", "user", "operator"],
        Parameter(
            help="With --add-user: viewer: read only; user: cancel own jobs; operator: cancel any job, drain nodes."
        ),
    ] = "viewer"
    remove_user: Annotated[str | None, Parameter(help="Remove this user and exit.")] = None
    users: Annotated[
        Path | None, Parameter(help="File of users; default: web-users.json in the cluster's state folder.")
    ] = None


DEFAULT_LISTEN, NO_USERS = Listens(), Members()


def web(
    *, cluster: Path | None = None, listens: Listens = DEFAULT_LISTEN, members: Members = NO_USERS
) -> int:
    """Serve a web page of the cluster: nodes, GPUs, jobs, queue, teams, alerts and history.

    Parameters
    ----------
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    """
    cluster_config = find_cluster(cluster)
    if members.add_user is not None or members.remove_user is not None:
        return _change_users(cluster_config, members)
    return _serve_page(cluster_config, members.users, listens)


def _change_users(cluster: Cluster, members: Members) -> int:
    """Add or remove a user of the web page; return EXIT_OK, or EXIT_FAILED if the user to remove does not exist.

    A prompt reads a new user's password.
    """
    from clusterwright.monitor.web.users import create_user

    users, add, remove = _users(cluster, members.users), members.add_user, members.remove_user
    if remove is not None and not users.remove(remove):
        show_message(_("{file} has no user `{user}`", file=users.path, user=remove))
        return EXIT_FAILED
    if add is not None:
        users.set_user(create_user(add, members.role, _password(add)))
        show_message(
            _(
                "user `{user}` may sign in as {role}; stored in {file}",
                user=add,
                role=members.role,
                file=users.path,
            )
        )
    return EXIT_OK


def _password(name: str) -> str:
    """Return a password: typed twice on a terminal, else the first line of stdin."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    password = getpass(_("Password for {name}: ", name=name))
    if getpass(_("Repeat the password: ")) != password:
        raise WrightError.from_code(
            "web-user", _("the passwords differ; no user was added"), _("run the command again")
        )
    return password


def _users(cluster: Cluster, file: Path | None) -> Users:
    from clusterwright.edge.secrets import state_folder
    from clusterwright.monitor.web.users import Users

    return Users(file or state_folder(cluster.name) / "web-users.json")


def _serve_page(cluster: Cluster, file: Path | None, listens: Listens) -> int:
    """Serve the web page until Ctrl-C; return EXIT_OK.

    Raises:
        WrightError: the settings would expose the page without TLS or sign-in, or a package is missing.
    """
    if missing := [name for name in _NEEDS if find_spec(name) is None]:
        raise WrightError.from_code(
            "web-needs-extra",
            _("wright web requires {packages}, which are not installed", packages=", ".join(missing)),
            _('run pip install "clusterwright[web]"'),
            exit_code=EXIT_USAGE,
        )
    from clusterwright.monitor.web.app import application
    from clusterwright.monitor.web.serve import Listener, bound, checked, serve

    users = _users(cluster, file)
    listener = Listener(listens.host, listens.port, listens.tls_cert, listens.tls_key)
    checked(listener, users=bool(users.all()))
    opened = bound(listener)
    with _site(cluster, users, listener) as site:
        show_message(_("serving {url} (Ctrl-C stops the server)", url=listener.url(opened.getsockname()[1])))
        with suppress(KeyboardInterrupt):
            serve(application(site), listener, opened)
    return EXIT_OK


@contextmanager
def _site(cluster: Cluster, users: Users, listener: Listener) -> Iterator[Site]:
    """Yield the objects that the web page consists of (feed, sessions, actions) for a `with` block.

    Its history file is closed at the end.
    """
    from clusterwright.edge.clock import SystemClock
    from clusterwright.edge.secrets import state_folder
    from clusterwright.monitor.gather import gather
    from clusterwright.monitor.web.app import Site
    from clusterwright.monitor.web.feed import Feed
    from clusterwright.monitor.web.guard import Guard
    from clusterwright.monitor.web.history import History
    from clusterwright.monitor.web.sessions import PasswordChecker, Sessions

    clock, remote = SystemClock(), connection_to(cluster)
    history = History(state_folder(cluster.name) / "web-history.sqlite", clock)
    feed = Feed(cluster.name, partial(gather, cluster, remote), history=history)
    guard = Guard(Sessions(users, clock), tls=listener.tls, open_to_all=listener.loopback)
    with closing(history):
        yield Site(feed, guard, PasswordChecker(users, clock), _cluster_actions(cluster, remote))


def _cluster_actions(cluster: Cluster, remote: Remote) -> ClusterActions:
    """Return what users of the web page may do; it runs on the control host, as root where Slurm requires it."""
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
