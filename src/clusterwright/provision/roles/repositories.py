"""Package repositories beside those of the distribution."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.repositories import Repository
from clusterwright.provision.alike import alike
from clusterwright.provision.resources import File, Package, Resource, RoleContext

DEPENDENCIES: tuple[str, ...] = ()

# dnf.conf(5): the lower number wins regardless of versions; EPEL has 99. So EPEL's Slurm never replaces the site's, as
# Slurm's installation page warns.
PRIORITY = 50


@alike
def repositories(cluster: Cluster, _host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the site's repositories, and EPEL if the distribution needs it for a selected package.

    Nothing with `software.bundle`: its hosts reach no repository.
    """
    if cluster.software.bundle:
        return ()
    epel = _epel(cluster) if cluster.platform.uses_epel else ()
    return (*repository_files(cluster, context), *epel)


def repository_files(cluster: Cluster, context: RoleContext) -> tuple[File, ...]:
    """Return the keys and source files of the site's repositories, for apt or dnf."""
    make = {"apt": _apt, "dnf": _dnf}[cluster.platform.package_manager]
    return tuple(
        file
        for name, repository in cluster.software.repositories.items()
        if repository.is_for(cluster.platform)
        for file in make(name, repository, context)
    )


def _epel(cluster: Cluster) -> tuple[Resource, ...]:
    """Return the EPEL package if the cluster file needs EPEL; nothing if the site names its own mirror `epel`."""
    environments = cluster.environments
    needs_epel = (
        cluster.monitoring.node_exporter
        or cluster.platform.has_slurm(cluster.software.slurm)
        or "apptainer" in environments.containers
        or environments.modules == "lmod"
    )
    if not needs_epel or "epel" in cluster.software.repositories:
        return ()
    return (Package(name="epel-release", early=True),)


def _apt(name: str, repository: Repository, context: RoleContext) -> list[File]:
    """Return the files of an apt repository: its signing key, if any, and its deb822 source (apt 1.1 or later)."""
    key = f"/etc/apt/keyrings/clusterwright-{name}.asc"
    lines = ["Types: deb", f"URIs: {repository.url}"]
    if repository.suite:
        lines += [f"Suites: {repository.suite}", f"Components: {' '.join(repository.components)}"]
    else:
        lines += ["Suites: ./"]
    lines.append(f"Signed-By: {key}" if repository.key else "Trusted: yes")
    path = f"/etc/apt/sources.list.d/clusterwright-{name}.sources"
    file = File(path=path, content=context.header() + "\n".join(lines) + "\n", early=True)
    return [*_key(key, repository), file]


def _dnf(name: str, repository: Repository, context: RoleContext) -> list[File]:
    key = f"/etc/pki/rpm-gpg/RPM-GPG-KEY-clusterwright-{name}"
    signed = f"gpgcheck=1\ngpgkey=file://{key}\n" if repository.key else "gpgcheck=0\n"
    text = f"""{context.header()}[clusterwright-{name}]
name={name}
baseurl={repository.url}
priority={PRIORITY}
{signed}"""
    return [
        *_key(key, repository),
        File(path=f"/etc/yum.repos.d/clusterwright-{name}.repo", content=text, early=True),
    ]


def _key(path: str, repository: Repository) -> list[File]:
    return [File(path=path, content=repository.key, early=True)] if repository.key else []
