"""Cache folders of users for downloads and compiled code, and the environment variables that select them."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.render.caches import cache_lines
from clusterwright.provision.resources import Directory, File, Resource, RoleContext

DEPENDENCIES = ("base", "shared_folders")

PROFILE = "/etc/profile.d/clusterwright-caches.sh"


@alike
def caches(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the cache directories (mode 1777) and a profile that sets their variables, unless the user has set them.

    Jobs of `wright train` get the same variables.
    """
    section, lines = cluster.environments.caches, cache_lines(cluster, 'export {name}="${{{name}:-{value}}}"')
    if not lines:
        return ()
    directories = [Directory(path=section.local, mode=0o1777)] if section.local else []
    if section.shared and host.name == cluster.control.name:
        directories.append(Directory(path=section.shared, mode=0o1777))
    text = context.header() + "".join(f"{line}\n" for line in lines)
    return (File(path=PROFILE, content=text), *directories)
