"""A user's authorized_keys: keys from the cluster file, and the cluster's own key, valid from its hosts only."""

from __future__ import annotations

from ipaddress import IPv4Network, collapse_addresses

from clusterwright.config.cluster import Cluster
from clusterwright.config.memoize import cache_per_instance
from clusterwright.provision.resources import RoleContext


def authorized_keys(cluster: Cluster, user: str, context: RoleContext, header: str) -> str:
    """Return the text of a user's authorized_keys: the keys of the cluster file and the cluster's own key for the user.

    If `heal.watch` is on, the account that Clusterwright logs in with has heal's key too. Keys that `context` lacks
    are placeholders.
    """
    lines = [f"{key}\n" for key in cluster.users[user].ssh_keys]
    public_key = context.secrets.get(f"ssh/{user}.pub", f"<public key ssh/{user}>\n".encode()).decode()
    reason = "\n# From host to host; every host has the private key, which is valid on these hosts only.\n"
    heal = heal_key(cluster, context) if cluster.heal.watch and user == logs_in(cluster) else ""
    return header + "".join(lines) + f'{reason}from="{hosts_only(cluster)}" {public_key}' + heal


def logs_in(cluster: Cluster) -> str:
    """Return the account by which Clusterwright logs in to hosts: `ssh.user`, in a lab root."""
    return "root" if cluster.lab else cluster.ssh.user


def heal_key(cluster: Cluster, context: RoleContext) -> str:
    """Return heal's key line: valid from the control host's addresses, for commands only (no terminal)."""
    public_key = context.secrets.get("heal/key.pub", b"<public key heal/key>\n").decode()
    addresses = ",".join(str(address) for address in cluster.control.addresses.values())
    return f'from="{addresses}",restrict {public_key}'


@cache_per_instance
def hosts_only(cluster: Cluster) -> str:
    """Return the addresses of all cluster hosts, and of no others, as the fewest CIDR blocks."""
    single = [IPv4Network(address) for host in cluster.hosts() for address in host.addresses.values()]
    return ",".join(str(block) for block in collapse_addresses(single))
