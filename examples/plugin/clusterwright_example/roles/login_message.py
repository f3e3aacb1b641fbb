"""The message of the day."""

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.resources import File, Resource, RoleContext

DEPENDENCIES = ("base",)


def login_message(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the message of the day, which names the cluster and the host."""
    text = f"{context.header()}Cluster {cluster.name}, host {host.name}.\n"
    return (File(path="/etc/motd.d/20-example", content=text),)
