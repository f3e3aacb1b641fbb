"""Who may connect to Alertmanager, and who may answer as one of the monitors: nft(8) rules by user id for loopback."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster
from clusterwright.provision.render.isolation import FIRST_USER
from clusterwright.provision.render.monitoring.alertmanager import ALERTMANAGER_PORT, NOTIFY_PORT
from clusterwright.provision.render.monitoring.prometheus import PROMETHEUS_PORT


def alertmanager_access(cluster: Cluster, header: str) -> str:
    """Return nft rules that reject connections to Alertmanager's port on the host, except those of operators.

    These are system accounts (root, Prometheus), `ssh.user` and the cluster file's admins. A user's program that takes
    the port of a monitor while that restarts reaches nobody: it would get alerts and the token of our receiver.
    """
    operators = "".join(f"    meta skuid {user} accept\n" for user in _operators(cluster))
    return f"""{header}
# The table is replaced as a whole: adding an empty one first makes the deletion safe.
table inet clusterwright_alertmanager {{}}
delete table inet clusterwright_alertmanager

table inet clusterwright_alertmanager {{
  chain output {{
    type filter hook output priority filter; policy accept;
    oif lo tcp sport {{ {PROMETHEUS_PORT}, {ALERTMANAGER_PORT}, {NOTIFY_PORT} }} meta skuid >= {FIRST_USER} drop
    oif lo tcp dport {ALERTMANAGER_PORT} tcp flags & (fin|syn|rst|ack) == syn goto connect
  }}

  # A packet whose socket belongs to no account (MPTCP) is none of an operator's.
  chain connect {{
    meta skuid < {FIRST_USER} accept
{operators}    reject with tcp reset
  }}
}}
"""


def _operators(cluster: Cluster) -> list[str]:
    """Return the ids of admins, and the name of `ssh.user` if it is no user of the cluster file."""
    users = [str(uid) for name, uid in cluster.unix_users().items() if cluster.users[name].admin]
    is_in_file = cluster.ssh.user == "root" or cluster.ssh.user in cluster.users
    return users if is_in_file else [*users, f'"{cluster.ssh.user}"']
