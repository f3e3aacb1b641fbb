"""Hostlists of the command line."""

from __future__ import annotations

from clusterwright.i18n import _


def expanded(hostlist: str) -> tuple[str, ...] | None:
    """Expand a hostlist; None for an empty text.

    Raises:
        WrightError: the text is not a hostlist.
    """
    from ClusterShell.NodeSet import NodeSetException

    from clusterwright.config.names import expand
    from clusterwright.errors import EXIT_USAGE, WrightError

    try:
        return expand(hostlist) if hostlist else None
    except NodeSetException as error:
        message = _("`{hostlist}` is not a hostlist: {error}", hostlist=hostlist, error=error)
        fix = _("write it as gpu-node[1-8,12]")
        raise WrightError.from_code("bad-hostlist", message, fix, exit_code=EXIT_USAGE) from error
