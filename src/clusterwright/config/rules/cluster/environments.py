"""Software environments of jobs: Python environments and containers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import PurePosixPath

from clusterwright.config.clash import Clash, is_within, unknown
from clusterwright.config.cluster import Cluster
from clusterwright.config.environments import PythonEnvironment
from clusterwright.i18n import _

_PYTHON_LOC = ("environments", "python")


def python_environments(cluster: Cluster) -> Iterator[Clash]:
    """No two in one place, all where every host sees them, each made by a member of its team."""
    environments = cluster.environments.python
    for (name, environment), (other_name, two) in combinations(environments.items(), 2):
        if is_within(environment.path, two.path) or is_within(two.path, environment.path):
            yield Clash(
                "environment-path",
                _(
                    "environments `{name}` and `{other_name}` are in one place: {path} and {path2}",
                    name=name,
                    other_name=other_name,
                    path=environment.path,
                    path2=two.path,
                ),
                _("give each a folder of its own, side by side"),
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
                _("{path} is not on shared storage, so each host would have its own", path=path),
                _("put it beneath {shared}", shared=" or ".join(shared) or "a folder of `storage:`"),
                ((*_PYTHON_LOC, name, field), ("storage",)),
            )
    if str(PurePosixPath(environment.path).parent) in shared or environment.path in shared:
        yield Clash(
            "environment-path",
            _(
                "environment `{name}` lies right in a shared folder, whose rights are not ours to change",
                name=name,
            ),
            _("put it into a folder there, such as /shared/envs/vision"),
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
        if environment.team in (user.team, *user.additional_teams)
    ]
    if not members:
        yield Clash(
            "environment-owner",
            _(
                "environment `{name}` is to be made by a member of team `{team}`, which has none",
                name=name,
                team=environment.team,
            ),
            _("add a user with that team, or name another team"),
            ((*_PYTHON_LOC, name, "team"), ("users",)),
        )
    elif environment.owner and environment.owner not in members:
        yield Clash(
            "environment-owner",
            _(
                "`{owner}` is to make environment `{name}` of team `{team}`, and is no member of it",
                owner=environment.owner,
                name=name,
                team=environment.team,
            ),
            _("name one of {members}", members=", ".join(members)),
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
                _(
                    "{path} is on shared storage, and what is kept there are many small files of each host",
                    path=path,
                ),
                _("name a folder of the hosts' own disks, such as /scratch or /var/tmp"),
                (("environments", *loc),),
            )
    path = section.caches.shared
    if path and not any(is_within(path, top) and path != top for top in shared):
        yield Clash(
            "folder-not-shared",
            _("{path} is not beneath a shared folder, so each host would have its own", path=path),
            _("put it beneath {shared}", shared=" or ".join(shared) or "a folder of `storage:`"),
            (("environments", "caches", "shared"), ("storage",)),
        )


def _packages(cluster: Cluster) -> Iterator[Clash]:
    runtimes = cluster.environments.containers
    missing = [runtime for runtime in runtimes if runtime not in cluster.platform.container_runtimes]
    if missing and not cluster.software.repositories:
        yield Clash(
            "container-no-package",
            _(
                "{os} has no packages for {missing}, and no repository of the site's is named",
                os=cluster.os,
                missing=", ".join(missing),
            ),
            _("name the repository that has them under `software.repositories`"),
            (("environments", "containers"), ("os",)),
        )
