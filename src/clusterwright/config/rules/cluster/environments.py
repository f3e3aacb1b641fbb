"""Software environments of jobs: Python environments and containers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import PurePosixPath

from clusterwright.config.clash import Clash, is_within, unknown
from clusterwright.config.cluster import Cluster
from clusterwright.config.environments import PythonEnvironment

_PYTHON_LOC = ("environments", "python")


def python_environments(cluster: Cluster) -> Iterator[Clash]:
    """No two in one place, all where every host sees them, each made by a member of its team."""
    environments = cluster.environments.python
    for (name, environment), (other_name, two) in combinations(environments.items(), 2):
        if is_within(environment.path, two.path) or is_within(two.path, environment.path):
            yield Clash(
                "environment-path",
                f"environments `{name}` and `{other_name}` are in one place: {environment.path} and {two.path}",
                "give each a folder of its own, side by side",
                ((*_PYTHON_LOC, name, "path"), (*_PYTHON_LOC, other_name, "path")),
            )
    for name, environment in environments.items():
        yield from _places(cluster, name, environment)
        yield from _people(cluster, name, environment)


def _places(cluster: Cluster, name: str, environment: PythonEnvironment) -> Iterator[Clash]:
    shared = [folder.path for folder in cluster.storage.values()]
    for field in ("path", "requirements", "wheels"):
        path = getattr(environment, field)
        if path and not any(is_within(path, top) for top in shared):
            yield Clash(
                "folder-not-shared",
                f"{path} is not on shared storage, so each host would have its own",
                f"put it beneath {' or '.join(shared) or 'a folder of `storage:`'}",
                ((*_PYTHON_LOC, name, field), ("storage",)),
            )
    if str(PurePosixPath(environment.path).parent) in shared or environment.path in shared:
        yield Clash(
            "environment-path",
            f"environment `{name}` lies right in a shared folder, whose rights are not ours to change",
            "put it into a folder there, such as /shared/envs/vision",
            ((*_PYTHON_LOC, name, "path"),),
        )


def _people(cluster: Cluster, name: str, environment: PythonEnvironment) -> Iterator[Clash]:
    if environment.team not in cluster.teams:
        subject, locs = f"environment `{name}`", ((*_PYTHON_LOC, name, "team"), ("teams",))
        yield unknown(subject, "team", environment.team, cluster.teams, locs)
        return
    members = [
        user_name
        for user_name, user in cluster.users.items()
        if environment.team in (user.team, *user.also_in)
    ]
    if not members:
        yield Clash(
            "environment-owner",
            f"environment `{name}` is to be made by a member of team `{environment.team}`, which has none",
            "add a user with that team, or name another team",
            ((*_PYTHON_LOC, name, "team"), ("users",)),
        )
    elif environment.owner and environment.owner not in members:
        yield Clash(
            "environment-owner",
            f"`{environment.owner}` is to make environment `{name}` of "
            f"team `{environment.team}`, and is no member of it",
            f"name one of {', '.join(members)}",
            ((*_PYTHON_LOC, name, "owner"), (*_PYTHON_LOC, name, "team")),
        )


def containers(cluster: Cluster) -> Iterator[Clash]:
    """There are packages of each; layers and compiled kernels are on no shared folder, and shared caches on one."""
    yield from _packages(cluster)
    section = cluster.environments
    shared = [
        folder.path for folder in cluster.storage.values() if folder.path != "/"
    ]  # which is refused as such
    for path, loc in ((section.scratch, ("scratch",)), (section.caches.local, ("caches", "local"))):
        if path and any(is_within(path, top) for top in shared):
            yield Clash(
                "scratch-shared",
                f"{path} is on shared storage, and what is kept there are many small files of each host",
                "name a folder of the hosts' own disks, such as /scratch or /var/tmp",
                (("environments", *loc),),
            )
    path = section.caches.shared
    if path and not any(is_within(path, top) and path != top for top in shared):
        yield Clash(
            "folder-not-shared",
            f"{path} is not beneath a shared folder, so each host would have its own",
            f"put it beneath {' or '.join(shared) or 'a folder of `storage:`'}",
            (("environments", "caches", "shared"), ("storage",)),
        )


def _packages(cluster: Cluster) -> Iterator[Clash]:
    runtimes = cluster.environments.containers
    missing = [runtime for runtime in runtimes if runtime not in cluster.platform.container_runtimes]
    if missing and not cluster.software.repositories:
        yield Clash(
            "container-no-package",
            f"{cluster.os} has no packages for {', '.join(missing)}, and no repository of the site's is named",
            "name the repository that has them under `software.repositories`",
            (("environments", "containers"), ("os",)),
        )
