"""Names, accounts, and who may log in."""

from __future__ import annotations

from clusterwright.build.render.hosts_file import hosts_file
from clusterwright.build.resources import (
    Directory,
    File,
    Given,
    Group,
    Package,
    Resource,
    Symlink,
    Sysctl,
    Unit,
    User,
)
from clusterwright.spec.cluster import Cluster, Host

AFTER: tuple[str, ...] = ()
KEYS = "/etc/ssh/authorized_keys.d"


def base(cluster: Cluster, host: Host, given: Given) -> tuple[Resource, ...]:
    """The host's own name, all addresses, teams and users with their ids and keys, the time zone."""
    header = given.header()
    return (
        File(path="/etc/hostname", content=f"{host.name}\n"),
        Sysctl(key="kernel.hostname", value=host.name),
        File(path="/etc/hosts", content=hosts_file(cluster, header)),
        Package(name="tzdata"),
        Symlink(path="/etc/localtime", target=f"/usr/share/zoneinfo/{cluster.time.zone}"),
        *(Group(name=name, gid=team.gid) for name, team in cluster.teams.items()),
        *(User(name=name, uid=user.uid, group=user.team) for name, user in cluster.users.items()),
        *_sudo(cluster, header),
        *_ssh(cluster, header),
    )


def _sudo(cluster: Cluster, header: str) -> tuple[Resource, ...]:
    """Admins may do everything, without a password: they have none, only keys."""
    admins = [name for name, user in cluster.users.items() if user.admin]
    if not admins:
        return ()
    text = header + "".join(f"{name} ALL=(ALL:ALL) NOPASSWD: ALL\n" for name in admins)
    check = ("visudo", "-cf", "{}")
    return (
        Package(name="sudo"),
        File(path="/etc/sudoers.d/clusterwright", content=text, mode=0o440, validate=check),
    )


def _ssh(cluster: Cluster, header: str) -> tuple[Resource, ...]:
    """Keys from the file lie beside the users' own, not in their place."""
    allowed = "yes" if cluster.security.password_login else "no"
    settings = f"""{header}
# Keys from the cluster file are in the last place; users keep their own in the first two.
AuthorizedKeysFile .ssh/authorized_keys .ssh/authorized_keys2 {KEYS}/%u
PasswordAuthentication {allowed}
KbdInteractiveAuthentication {allowed}
"""
    sshd = File(
        path="/etc/ssh/sshd_config.d/50-clusterwright.conf",
        content=settings,
        validate=("sshd", "-t", "-f", "{}"),
    )
    keys = [
        File(path=f"{KEYS}/{name}", content=header + "".join(f"{key}\n" for key in user.ssh_keys))
        for name, user in cluster.users.items()
        if user.ssh_keys
    ]
    return (Directory(path=KEYS), *keys, sshd, Unit(name="ssh.service", restart_on=(sshd.id,), reload=True))
