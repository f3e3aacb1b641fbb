"""Unix groups of teams and accounts of users, with the same IDs on every host; admins may use sudo."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.people import User as Person
from clusterwright.config.storage import Nfs
from clusterwright.provision.alike import alike
from clusterwright.provision.resources import File, Group, Package, Resource, RoleContext, User

DEPENDENCIES = ("base",)

HOME = "/home"


@alike
def accounts(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return a group for each team and an account for each user; `additional_teams` are secondary groups.

    If /home is a shared folder, only its server creates home directories, and its accounts are created first.
    """
    server, groups = homes_from(cluster), cluster.unix_groups()
    return (
        *(Group(name=name, gid=gid) for name, gid in groups.items()),
        *(
            User(
                name=name,
                uid=uid,
                group=cluster.users[name].team,
                groups=tuple(team for team in cluster.users[name].additional_teams if team in groups),
                not_in=tuple(team for team in groups if team not in _teams_of(cluster.users[name])),
                password=cluster.security.password_login,
                home=server in (None, host.name),
            )
            for name, uid in cluster.unix_users().items()
        ),
        *_sudo(cluster, context.header()),
    )


def _teams_of(user: Person) -> tuple[str, ...]:
    return (user.team, *user.additional_teams)


def homes_from(cluster: Cluster) -> str | None:
    """Return the NFS server of /home; None if /home is not on NFS, as hosts then have local home directories."""
    folders = cluster.storage.values()
    return next(
        (folder.server for folder in folders if isinstance(folder, Nfs) and folder.path == HOME), None
    )


def _sudo(cluster: Cluster, header: str) -> tuple[Resource, ...]:
    """Return sudo and the rule of admins, without a password, as accounts have keys only; nothing without admins."""
    admins = [name for name, user in cluster.users.items() if user.admin]
    if not admins:
        return ()
    text = header + "".join(f"{name} ALL=(ALL:ALL) NOPASSWD: ALL\n" for name in admins)
    check = ("visudo", "-cf", "{}")
    return (
        Package(name="sudo"),
        File(path="/etc/sudoers.d/clusterwright", content=text, mode=0o440, validate=check),
    )
