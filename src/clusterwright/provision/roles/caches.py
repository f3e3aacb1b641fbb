"""Cache folders of users for downloads and compiled code, and the environment variables that select them."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.render.caches import caches as variables
from clusterwright.provision.resources import Directory, File, Resource, RoleContext

DEPENDENCIES = ("base", "shared_folders")

PROFILE = "/etc/profile.d/clusterwright-caches.sh"


@alike
def caches(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the cache directories (mode 1777) and a profile that sets their variables, unless the user has set them.

    Jobs of `wright train` get the same variables.
    """
    section, cache_variables = cluster.environments.caches, variables(cluster)
    if not cache_variables:
        return ()
    rows = "".join(f'export {name}="${{{name}:-{text}}}"\n' for name, text in cache_variables.items())
    directories = [Directory(path=section.local, mode=0o1777)] if section.local else []
    if section.shared and host.name == cluster.control.name:
        directories.append(Directory(path=section.shared, mode=0o1777))
    text = context.header() + ': "${USER:=$(id -un)}"\n' + rows
    return (File(path=PROFILE, content=text), *directories)
