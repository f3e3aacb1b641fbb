"""Rules about the software environments of jobs: Python environments and containers."""

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
    """Check that Python environments do not overlap, are on shared storage, and are built by a member of their team."""
    environments = cluster.environments.python
    for (name, environment), (other_name, two) in combinations(environments.items(), 2):
        if is_within(environment.path, two.path) or is_within(two.path, environment.path):
            message = _(
                "the paths of environments `{first}` and `{second}` overlap: {first_path} and {second_path}",
                first=name,
                second=other_name,
                first_path=environment.path,
                second_path=two.path,
            )
            locs = ((*_PYTHON_LOC, name, "path"), (*_PYTHON_LOC, other_name, "path"))
            yield Clash("environment-path", message, _("choose separate folders side by side"), locs)
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
                _("{path} is not on shared storage, so each host would have a different one", path=path),
                _("choose a path below {folders}", folders=", ".join(shared) or "storage.NAME.path"),
                ((*_PYTHON_LOC, name, field), ("storage",)),
            )
    if str(PurePosixPath(environment.path).parent) in shared or environment.path in shared:
        yield Clash(
            "environment-path",
            _(
                "environment `{name}` is at the top of a shared folder, whose permissions must not change",
                name=name,
            ),
            _("choose a folder below that path, such as /shared/envs/vision"),
            ((*_PYTHON_LOC, name, "path"),),
        )


def _people(cluster: Cluster, name: str, environment: PythonEnvironment) -> Iterator[Clash]:
    if environment.team not in cluster.teams:
        subject, locs = _("environment `{name}`", name=name), ((*_PYTHON_LOC, name, "team"), ("teams",))
        yield unknown(subject, _("team"), environment.team, cluster.teams, locs)
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
                "environment `{name}` needs a member of team `{team}` to build it, but the team has none",
                name=name,
                team=environment.team,
            ),
            _("add a user with that team, or set another team"),
            ((*_PYTHON_LOC, name, "team"), ("users",)),
        )
    elif environment.owner and environment.owner not in members:
        yield Clash(
            "environment-owner",
            _(
                "the owner `{owner}` of environment `{name}` is not a member of team `{team}`",
                owner=environment.owner,
                name=name,
                team=environment.team,
            ),
            _("choose one of {members}", members=", ".join(members)),
            ((*_PYTHON_LOC, name, "owner"), (*_PYTHON_LOC, name, "team")),
        )


def containers(cluster: Cluster) -> Iterator[Clash]:
    """Check that container runtimes have packages, and that caches are on the right storage, as far as they are set.

    Scratch and local caches must not be on shared storage, the shared cache must be below it.
    """
    yield from _packages(cluster)
    section = cluster.environments
    shared = [
        folder.path for folder in cluster.storage.values() if folder.path != "/"
    ]  # another rule rejects /
    for path, loc in ((section.scratch, ("scratch",)), (section.caches.local, ("caches", "local"))):
        if path and any(is_within(path, top) for top in shared):
            yield Clash(
                "scratch-shared",
                _("{path} is on shared storage, but holds many small files of each host", path=path),
                _("use a folder on local disks, such as /scratch or /var/tmp"),
                (("environments", *loc),),
            )
    path = section.caches.shared
    if path and not any(is_within(path, top) and path != top for top in shared):
        yield Clash(
            "folder-not-shared",
            _("{path} is not on shared storage, so each host would have a different one", path=path),
            _("choose a path below {folders}", folders=", ".join(shared) or "storage.NAME.path"),
            (("environments", "caches", "shared"), ("storage",)),
        )


def _packages(cluster: Cluster) -> Iterator[Clash]:
    for on_system, loc in cluster.systems("compute"):
        yield from _runtimes(on_system, loc)


def _runtimes(cluster: Cluster, loc: tuple[str, ...]) -> Iterator[Clash]:
    runtimes = cluster.environments.containers
    missing = [runtime for runtime in runtimes if runtime not in cluster.platform.container_runtimes]
    if missing and not cluster.software.repositories:
        yield Clash(
            "container-no-package",
            _(
                "{os} has no packages of {runtimes}, and software.repositories is empty",
                os=cluster.os,
                runtimes=", ".join(missing),
            ),
            _("add a repository with these packages to `software.repositories`"),
            (("environments", "containers"), loc),
        )
