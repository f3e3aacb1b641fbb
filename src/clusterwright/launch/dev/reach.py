"""How a person comes from their own machine to a session: what to copy; pure."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from clusterwright.config.cluster import Cluster
from clusterwright.launch.dev.asking import Asked


@dataclass(frozen=True, slots=True)
class Reach:
    """Commands as argument lists, and the address to open."""

    tunnel: tuple[str, ...]
    url: str
    shell: tuple[str, ...]
    ssh_block: str


def reach(asked: Asked, cluster: Cluster, *, local_port: int, key: str = "", hosts: str = "") -> Reach:
    """The ways to a session that is up; `key` and `hosts` are this machine's files for its sshd."""
    if asked.kind == "jupyter":
        return Reach(
            _tunnel(asked, cluster, local_port),
            f"http://127.0.0.1:{local_port}/lab?token={asked.token}",
            (),
            "",
        )
    if asked.kind == "vscode":
        return Reach((), "", (), _block(asked, cluster, key, hosts))
    return Reach((), "", _shell(asked, cluster), "")


def _through(cluster: Cluster, host: str, *more: str) -> tuple[str, ...]:
    """Ssh to the compute host by the control host, with a connection of its own: its end is the tunnel's end."""
    config = ("-F", cluster.ssh_config) if cluster.ssh_config else ()
    return (
        "ssh",
        *config,
        "-S",
        "none",
        *more,
        "-J",
        _hop(cluster, cluster.control.name),
        *_who(cluster),
        host,
    )


def _who(cluster: Cluster) -> tuple[str, ...]:
    if cluster.lab is not None:
        return ()
    return ("-l", cluster.ssh.user, "-p", str(cluster.ssh.port))


def _hop(cluster: Cluster, host: str) -> str:
    return host if cluster.lab is not None else f"{cluster.ssh.user}@{host}:{cluster.ssh.port}"


def _tunnel(asked: Asked, cluster: Cluster, local_port: int) -> tuple[str, ...]:
    ends = f"127.0.0.1:{local_port}:127.0.0.1:{asked.port}"
    return _through(cluster, asked.host, "-N", "-o", "ExitOnForwardFailure=yes", "-L", ends)


def _shell(asked: Asked, cluster: Cluster) -> tuple[str, ...]:
    """A step in the job that is there already."""
    step = f"srun --jobid={asked.job} --overlap --pty bash -lc 'cd; exec bash -l'"
    # whoever logs in as root becomes the session's user; anybody else is that user
    command = f'[ "$(id -u)" != 0 ] && exec {step}; exec runuser -u {shlex.quote(asked.user)} -- {step}'
    config = ("-F", cluster.ssh_config) if cluster.ssh_config else ()
    return ("ssh", *config, "-t", *_who(cluster), cluster.control.name, command)


def _block(asked: Asked, cluster: Cluster, key: str, hosts: str) -> str:
    """For ssh_config(5). The sshd of the session is on the loopback address of its host, so ssh goes there first."""
    way = shlex.join(_through(cluster, asked.host, "-W", f"127.0.0.1:{asked.port}"))
    return f"""Host wright-dev-{asked.job}
  HostName 127.0.0.1
  HostKeyAlias wright-dev-{asked.job}
  User {asked.user}
  IdentityFile "{key}"
  IdentitiesOnly yes
  UserKnownHostsFile "{hosts}"
  StrictHostKeyChecking yes
  ProxyCommand {way.replace("%", "%%")}
"""
