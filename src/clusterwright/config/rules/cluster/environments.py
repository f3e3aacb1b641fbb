"""Software environments of jobs: Python environments and containers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import PurePosixPath

from clusterwright.config.clash import Clash, is_within, unknown
from clusterwright.config.cluster import Cluster
from clusterwright.config.environments import PythonEnvironment

_HERE = ("environments", "python")


def python_environments(cluster: Cluster) -> Iterator[Clash]:
    """No two in one place, all where every host sees them, each made by a member of its team."""
    wanted = cluster.environments.python
    for (name, one), (other, two) in combinations(wanted.items(), 2):
        if is_within(one.path, two.path) or is_within(two.path, one.path):
            yield Clash(
                "environment-path",
                f"environments `{name}` and `{other}` are in one place: {one.path} and {two.path}",
                "give each a folder of its own, side by side",
                ((*_HERE, name, "path"), (*_HERE, other, "path")),
            )
    for name, one in wanted.items():
        yield from _places(cluster, name, one)
        yield from _people(cluster, name, one)


def _places(cluster: Cluster, name: str, one: PythonEnvironment) -> Iterator[Clash]:
    shared = [folder.path for folder in cluster.storage.values()]
    for field in ("path", "requirements", "wheels"):
        path = getattr(one, field)
        if path and not any(is_within(path, top) for top in shared):
            yield Clash(
                "folder-not-shared",
                f"{path} is not on shared storage, so each host would have its own",
                f"put it beneath {' or '.join(shared) or 'a folder of `storage:`'}",
                ((*_HERE, name, field), ("storage",)),
            )
    if str(PurePosixPath(one.path).parent) in shared or one.path in shared:
        yield Clash(
            "environment-path",
            f"environment `{name}` lies right in a shared folder, whose rights are not ours to change",
            "put it into a folder there, such as /shared/envs/vision",
            ((*_HERE, name, "path"),),
        )


def _people(cluster: Cluster, name: str, one: PythonEnvironment) -> Iterator[Clash]:
    if one.team not in cluster.teams:
        who, at = f"environment `{name}`", ((*_HERE, name, "team"), ("teams",))
        yield unknown(who, "team", one.team, cluster.teams, at)
        return
    members = [who for who, user in cluster.users.items() if one.team in (user.team, *user.also_in)]
    if not members:
        yield Clash(
            "environment-owner",
            f"environment `{name}` is to be made by a member of team `{one.team}`, which has none",
            "add a user with that team, or name another team",
            ((*_HERE, name, "team"), ("users",)),
        )
    elif one.owner and one.owner not in members:
        yield Clash(
            "environment-owner",
            f"`{one.owner}` is to make environment `{name}` of team `{one.team}`, and is no member of it",
            f"name one of {', '.join(members)}",
            ((*_HERE, name, "owner"), (*_HERE, name, "team")),
        )


def containers(cluster: Cluster) -> Iterator[Clash]:
    """There are packages of each; layers and compiled kernels are on no shared folder, and shared caches on one."""
    yield from _packages(cluster)
    where = cluster.environments
    shared = [
        folder.path for folder in cluster.storage.values() if folder.path != "/"
    ]  # which is refused as such
    for path, at in ((where.scratch, ("scratch",)), (where.caches.local, ("caches", "local"))):
        if path and any(is_within(path, top) for top in shared):
            yield Clash(
                "scratch-shared",
                f"{path} is on shared storage, and what is kept there are many small files of each host",
                "name a folder of the hosts' own disks, such as /scratch or /var/tmp",
                (("environments", *at),),
            )
    path = where.caches.shared
    if path and not any(is_within(path, top) and path != top for top in shared):
        yield Clash(
            "folder-not-shared",
            f"{path} is not beneath a shared folder, so each host would have its own",
            f"put it beneath {' or '.join(shared) or 'a folder of `storage:`'}",
            (("environments", "caches", "shared"), ("storage",)),
        )


def _packages(cluster: Cluster) -> Iterator[Clash]:
    wanted = cluster.environments.containers
    missing = [runtime for runtime in wanted if runtime not in cluster.platform.container_runtimes]
    if missing and not cluster.software.repositories:
        yield Clash(
            "container-no-package",
            f"{cluster.os} has no packages for {', '.join(missing)}, and no repository of the site's is named",
            "name the repository that has them under `software.repositories`",
            (("environments", "containers"), ("os",)),
        )
