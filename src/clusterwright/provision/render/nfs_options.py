"""How a folder is mounted over NFS, for training: each option with its reason and source."""

from __future__ import annotations

import math

from clusterwright.config.cluster import Cluster
from clusterwright.config.storage import Nfs
from clusterwright.provision.render.mounts import Option
from clusterwright.units import GB

GBIT = GB  # a second: 10^9, of bits as of bytes
# Rate of one TCP connection, limited by one core of client and server (our figure, of the order of ESnet's).
CONNECTION = 10 * GBIT
# nfs(5) allows 16; beyond 8 a vendor measured no gain (Azure NetApp Files: Linux mount options).
MOST = 8
NCONNECT_SINCE = "5.3"  # nfs(5); RHEL 8.3 has it in its 4.18
LARGEST = 1048576  # nfs(5): rsize, wsize

_HARD = Option("hard", "jobs wait while the server reboots; soft would silently truncate files.")
_NOAC = (
    "set in the cluster file: every open and stat is a round trip to the server, and writes wait for it too."
)
_POSITIVE = (
    "missing names are looked up again each time. Otherwise a host that looks too early for a file of another one"
    " (a rendezvous, a first checkpoint) gets `no such file` for up to a minute (acdirmax), and the start hangs."
    " Existing files stay cached, unlike with noac."
)


def nfs_options(cluster: Cluster, folder: Nfs) -> tuple[Option, ...]:
    """Return the mount options of an NFS folder: ours, unless the site sets the same option, then the site's."""
    named = {option.partition("=")[0] for option in folder.options}
    ours = [
        Option(
            "vers=4.2",
            "one port for the firewall, locks without extra daemons, sparse files and server-side copies.",
        ),
        _HARD,
        Option("noatime", "reads write no access times, for millions of files."),
        Option(f"rsize={LARGEST}", "the maximum: fewer round trips for checkpoints and shards."),
        Option(f"wsize={LARGEST}", "as for rsize."),
        *_connections(cluster),
        *_attributes(cluster, folder),
    ]
    return (
        *(option for option in ours if option.text.partition("=")[0] not in named),
        *(Option(text) for text in folder.options),
    )


def _connections(cluster: Cluster) -> tuple[Option, ...]:
    """Return `nconnect` for the rate of the storage (else management) network; nothing if one connection suffices."""
    network = cluster.networks.storage or cluster.networks.management
    count = min(MOST, math.ceil(network.rate / CONNECTION))
    if count < 2:
        return ()
    reason = (
        f"the network has {network.rate // GBIT} Gbit/s, one TCP connection about 10, limited by one core."
    )
    return (Option(f"nconnect={count}", reason),)


def _attributes(cluster: Cluster, folder: Nfs) -> tuple[Option, ...]:
    """Return the attribute cache options: `noac` on request, else no negative entries for the folder with the runs.

    There hosts wait for new files. Empty for other folders.
    """
    if folder.noac:
        return (Option("noac", _NOAC),)
    if folder.path == cluster.shared_folder:
        return (Option("lookupcache=positive", _POSITIVE),)
    return ()
