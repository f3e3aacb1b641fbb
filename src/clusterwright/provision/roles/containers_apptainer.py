"""Apptainer without setuid; images are single files, and shared folders of the host are bind-mounted."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision import container_mounts
from clusterwright.provision.alike import alike
from clusterwright.provision.resources import File, Package, Resource, RoleContext

DEPENDENCIES = ("base", "repositories")

CONF = "/etc/apptainer/apptainer.conf"


@alike
def containers_apptainer(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return Apptainer and its settings if the cluster file lists it, except on control hosts.

    The package is from EPEL or, on Debian and Ubuntu, from the site's repository.
    """
    if "apptainer" not in cluster.environments.containers or host.group.role == "control":
        return ()
    conf = File(path=CONF, content=_conf(cluster, host, context.header()))
    return (Package(name="apptainer"), conf)


def _conf(cluster: Cluster, host: Host, header: str) -> str:
    """Return the settings that differ from Apptainer's defaults, and the shared folders to bind."""
    places = container_mounts.mounts(cluster)
    binds = "".join(f"bind path = {mount.path}\n" for mount in places if mount.path != "/home")
    nvidia = "always use nv = yes\n" if host.group.gpus else ""
    return f"""{header}
# User namespaces suffice for image files.
allow setuid = no

# Mount points that an image lacks are added by an overlay.
enable overlay = try
mount home = yes
mount tmp = yes
{binds}{nvidia}"""
