"""The folders in which users keep what they have fetched or compiled, and the variables that lead there."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.render.caches import caches as variables
from clusterwright.provision.resources import Directory, File, Given, Resource

AFTER = ("base", "shared_folders")

PROFILE = "/etc/profile.d/clusterwright-caches.sh"


@alike
def caches(cluster: Cluster, host: Host, given: Given) -> tuple[Resource, ...]:
    """Open to all as /tmp is; a variable that a user has set stays. Jobs of `wright train` have them as well."""
    where, told = cluster.environments.caches, variables(cluster)
    if not told:
        return ()
    rows = "".join(f'export {name}="${{{name}:-{text}}}"\n' for name, text in told.items())
    own = [Directory(path=where.local, mode=0o1777)] if where.local else []
    if where.shared and host.name == cluster.control.name:
        own.append(Directory(path=where.shared, mode=0o1777))
    text = given.header() + ': "${USER:=$(id -un)}"\n' + rows
    return (File(path=PROFILE, content=text), *own)
