"""ssh_config for users on the cluster's hosts: logins between hosts without a prompt."""

from __future__ import annotations

import re

from clusterwright.config.cluster import Cluster
from clusterwright.config.memoize import cache_per_instance

CLUSTER_KEYS = "/etc/ssh/cluster_keys.d"


def ssh_config(cluster: Cluster, header: str) -> str:
    """Return ssh_config: the cluster key first, then the user's defaults.

    accept-new: a host key is stored at the first connection, and a changed one is rejected. A complete known_hosts
    would need every host's key before any host's file could be written.
    """
    return f"""{header}
# Hosts of the cluster as patterns: ? is one character.
Host {names(cluster)}
    IdentityFile {CLUSTER_KEYS}/%u
    IdentityFile ~/.ssh/id_ed25519
    IdentityFile ~/.ssh/id_ecdsa
    IdentityFile ~/.ssh/id_rsa
    # A host key is stored at the first connection; a changed key is rejected (to accept it: ssh-keygen -R NAME).
    StrictHostKeyChecking accept-new
"""


@cache_per_instance
def names(cluster: Cluster) -> str:
    """Return patterns for ssh_config, as one text, that match all host names, such as `control gpu-node? gpu-node??`.

    Names with a network (`NAME-compute`) are not included: SSH is open on the management network only.
    """
    forms = {re.sub(r"[0-9](?=[0-9]*$)", "?", host.name): None for host in cluster.hosts()}
    return " ".join(forms)
