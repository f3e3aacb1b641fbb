"""Cache folders of users for downloads and compiled code, and the environment variables that select them."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.render.caches import cache_lines, is_volatile, local_folder
from clusterwright.provision.resources import Directory, File, Resource, RoleContext

DEPENDENCIES = ("base", "shared_folders")

PROFILE = "/etc/profile.d/clusterwright-caches.sh"
TMPFILES = "/etc/tmpfiles.d/clusterwright-caches.conf"


@alike
def caches(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the cache directories and a profile that sets their variables, unless the user has set them.

    An empty tuple without cache folders in the cluster file. All users may create folders in a cache directory; on
    compute hosts only the prolog of their jobs does. Jobs of `wright train` get the same variables.
    """
    shared, local = cluster.environments.caches.shared, local_folder(cluster)
    lines = cache_lines(cluster, 'export {name}="${{{name}:-{value}}}"')
    if not lines:
        return ()
    text = context.header() + "".join(f"{line}\n" for line in lines)
    profile = File(path=PROFILE, content=text)
    local_folders = _local(local, _local_mode(cluster, host), context) if local else ()
    shared_folders = (
        [Directory(path=shared, mode=0o1777)] if shared and host.name == cluster.control.name else []
    )
    return (profile, *local_folders, *shared_folders)


def _local(folder: str, mode: int, context: RoleContext) -> tuple[Resource, ...]:
    """Return the folder with local caches; one that a boot removes is there again before any user logs in."""
    text = f"{context.header()}# Nobody else creates the folder above those of users, after a boot either.\n"
    line = f"d {folder} {mode:o} root root\n"
    tmpfiles = (File(path=TMPFILES, content=text + line),) if is_volatile(folder) else ()
    return (*tmpfiles, Directory(path=folder, mode=mode))


def _local_mode(cluster: Cluster, host: Host) -> int:
    """Return the mode of the folder with local caches: only root creates in it where prologs run."""
    return 0o755 if cluster.slurm.health and host.group.role == "compute" else 0o1777
