"""Hostlists of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster


def expanded(hostlist: str) -> tuple[str, ...] | None:
    """Return the host names of a hostlist; None for an empty text.

    Raises:
        WrightError: the text is not a hostlist.
    """
    from clusterwright.config.hostlists import MAX_HOSTS, HostlistError
    from clusterwright.config.names import expand
    from clusterwright.errors import EXIT_USAGE, WrightError

    try:
        return expand(hostlist) if hostlist else None
    except HostlistError as error:
        message = _("`{value}` is not a hostlist of 1 to {limit} hosts", value=hostlist[:60], limit=MAX_HOSTS)
        fix = _("write the hostlist as gpu-node[1-8,12]")
        raise WrightError.from_code("bad-hostlist", message, fix, exit_code=EXIT_USAGE) from error


def hosts_of(cluster: Cluster, hostlist: str) -> tuple[str, ...] | None:
    """Return the host names of a hostlist, all of which the cluster has; None for an empty text.

    Raises:
        WrightError: the text is not a hostlist, or the cluster has no such host.
    """
    from clusterwright.provision.change.hosts import require_hosts

    chosen = expanded(hostlist)
    require_hosts(cluster, chosen or ())
    return chosen
