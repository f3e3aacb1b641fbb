"""ssh_config for users on the cluster's hosts: logins between hosts without a prompt."""

from __future__ import annotations

import re

from clusterwright.config.cluster import Cluster
from clusterwright.config.memoize import cache_per_instance

CLUSTER_KEYS = "/etc/ssh/cluster_keys.d"


def ssh_config(cluster: Cluster, header: str) -> str:
    """The cluster's key first, then the user's own, as ssh has them without us.

    accept-new: a host is known from its first visit on, and refused when its key changes. Listing all keys would
    need every host's word before any host's file could be written, and one that is down would change it for all.
    """
    return f"""{header}
# Hosts of the cluster, by the form of their names: ? is one character.
Host {names(cluster)}
    IdentityFile {CLUSTER_KEYS}/%u
    IdentityFile ~/.ssh/id_ed25519
    IdentityFile ~/.ssh/id_ecdsa
    IdentityFile ~/.ssh/id_rsa
    # Known from the first visit on; refused when its key changes (then: ssh-keygen -R NAME).
    StrictHostKeyChecking accept-new
"""


@cache_per_instance
def names(cluster: Cluster) -> str:
    """Few patterns for any number of hosts: `control gpu-node? gpu-node??`. SSH is open on the plain names only."""
    forms = {re.sub(r"[0-9](?=[0-9]*$)", "?", host.name): None for host in cluster.hosts()}
    return " ".join(forms)
