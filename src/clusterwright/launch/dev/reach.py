"""How a user connects to a session: tunnel, URL, shell command or ssh_config entry."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from clusterwright.config.cluster import Cluster
from clusterwright.launch.dev.asking import Session


@dataclass(frozen=True, slots=True)
class DevReach:
    """Commands that connect to a session, as argument lists, the URL to open, and an ssh_config entry."""

    tunnel: tuple[str, ...]
    url: str
    shell: tuple[str, ...]
    ssh_block: str


def reach(session: Session, cluster: Cluster, *, local_port: int, key: str = "", hosts: str = "") -> DevReach:
    """Return how to connect to a session; `key` and `hosts` are the identity and known_hosts files for its sshd."""
    if session.kind == "jupyter":
        return DevReach(
            _tunnel(session, cluster, local_port),
            f"http://127.0.0.1:{local_port}/lab?token={session.token}",
            (),
            "",
        )
    if session.kind == "vscode":
        return DevReach((), "", (), _block(session, cluster, key, hosts))
    return DevReach((), "", _shell(session, cluster), "")


def _through(session: Session, cluster: Cluster, *more: str) -> tuple[str, ...]:
    """Return an ssh command line to the session's compute host through the control host, with the options `more`.

    Its connection is not shared, so that its end ends the tunnel.
    """
    config = ("-F", cluster.ssh_config) if cluster.ssh_config else ()
    return (
        "ssh",
        *config,
        "-S",
        "none",
        *more,
        "-J",
        _hop(session, cluster),
        *(("-l", session.user) if cluster.unmanaged else _login_options(cluster)),
        session.host,
    )


def _login_options(cluster: Cluster) -> tuple[str, ...]:
    if cluster.lab is not None:
        return ()
    return ("-l", cluster.ssh.user, "-p", str(cluster.ssh.port))


def _hop(session: Session, cluster: Cluster) -> str:
    """Return the host to jump over; that of a learned cluster is a login host, as the user reaches it."""
    host, access = cluster.control.name, cluster.unmanaged
    if access is not None:
        user, host = (access.user, access.login) if access.login else (session.user, host)
        return f"{user}@{host}" if user else host
    return host if cluster.lab is not None else f"{cluster.ssh.user}@{host}:{cluster.ssh.port}"


def _tunnel(session: Session, cluster: Cluster, local_port: int) -> tuple[str, ...]:
    ends = f"127.0.0.1:{local_port}:127.0.0.1:{session.port}"
    return _through(session, cluster, "-N", "-o", "ExitOnForwardFailure=yes", "-L", ends)


def _shell(session: Session, cluster: Cluster) -> tuple[str, ...]:
    """Return the command line, over ssh if needed, that opens a shell as a further step of the session's job."""
    step = f"srun --jobid={session.job} --overlap --pty bash -lc 'cd; exec bash -l'"
    if access := cluster.unmanaged:
        login = ("-l", access.user) if access.user else ()
        return ("ssh", "-t", *login, access.login, step) if access.login else ("sh", "-c", step)
    # A root login becomes the session's user; any other login is that user.
    command = f'[ "$(id -u)" != 0 ] && exec {step}; exec runuser -u {shlex.quote(session.user)} -- {step}'
    config = ("-F", cluster.ssh_config) if cluster.ssh_config else ()
    return ("ssh", *config, "-t", *_login_options(cluster), cluster.control.name, command)


def _block(session: Session, cluster: Cluster, key: str, hosts: str) -> str:
    """Return an ssh_config(5) entry that connects to the host first: the session's sshd listens on its loopback."""
    proxy_command = shlex.join(_through(session, cluster, "-W", f"127.0.0.1:{session.port}"))
    return f"""Host wright-dev-{session.job}
  HostName 127.0.0.1
  HostKeyAlias wright-dev-{session.job}
  User {session.user}
  IdentityFile "{key}"
  IdentitiesOnly yes
  UserKnownHostsFile "{hosts}"
  StrictHostKeyChecking yes
  ProxyCommand {proxy_command.replace("%", "%%")}
"""
