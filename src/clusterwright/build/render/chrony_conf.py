"""chrony.conf: the control host asks the site's servers, the others ask the control host."""

from __future__ import annotations

from clusterwright.spec.cluster import Cluster, Host

LOCAL_STRATUM = 10  # chrony.conf(5): high enough that a real server is always preferred


def chrony_conf(cluster: Cluster, host: Host, header: str) -> str:
    """The whole file for one host."""
    lines = [header, "driftfile /var/lib/chrony/chrony.drift\n"]
    if host.group.role == "control":
        lines += [f"server {server} iburst\n" for server in cluster.time.servers]
        lines.append("\n# The others follow this host, also while it is cut off from its own servers.\n")
        lines.append(f"local stratum {LOCAL_STRATUM}\n")
        lines += [f"allow {network.subnet}\n" for network in cluster.networks.named().values()]
    else:
        lines += [
            f"server {control.management} iburst minpoll 4 maxpoll 6\n"
            for control in cluster.hosts("control")
        ]
    if cluster.lab is None:
        lines.append(
            "\n# A clock that is far off is set at once, but only in the first three updates after a start.\n"
        )
        lines.append("makestep 1 3\nrtcsync\n")
    return "".join(lines)
