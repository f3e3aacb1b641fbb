"""chrony.conf: control hosts synchronize with the site's servers, other hosts with the control hosts."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host

LOCAL_STRATUM = 10  # chrony.conf(5): high enough that a real server is always preferred
SETS_CLOCK = """
# A large offset is corrected at once, but only in the first three updates after a start.
makestep 1 3
rtcsync
"""


def chrony_conf(cluster: Cluster, host: Host, header: str) -> str:
    """Return the text of chrony.conf of one host: control hosts serve the time, the others are their clients.

    In a lab it does not set the clock.
    """
    drift = cluster.platform.path("/var/lib/chrony/chrony.drift")
    lines = [header, f"driftfile {drift}\n"]
    if host.group.role == "control":
        lines += _serves(cluster, host)
    else:
        lines += [
            f"server {control_host.management} iburst minpoll 4 maxpoll 6\n"
            for control_host in cluster.hosts("control")
        ]
    return "".join(lines) + (SETS_CLOCK if cluster.lab is None else "")


def _serves(cluster: Cluster, host: Host) -> list[str]:
    """Return the lines of a control host, which serves time: its own servers, the other control hosts, its clients.

    Without servers in the file: the distribution's pool, in a lab none. If no server responds, several control hosts
    elect a leader (`orphan`).
    """
    peers = [control_host for control_host in cluster.hosts("control") if control_host.name != host.name]
    lines = [f"server {server} iburst\n" for server in cluster.time.servers]
    if not lines and cluster.lab is None:
        lines = [f"pool {cluster.platform.ntp_pool} iburst\n"]
    lines += [f"server {peer.management} iburst\n" for peer in peers]
    lines.append("\n# The others follow, also while this host is cut off from its own servers.\n")
    lines.append(f"local stratum {LOCAL_STRATUM}{' orphan' if peers else ''}\n")
    return lines + [f"allow {network.subnet}\n" for network in cluster.networks.named().values()]
