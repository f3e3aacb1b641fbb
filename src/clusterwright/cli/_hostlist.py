"""Hosts as they are typed on the command line."""

from __future__ import annotations


def expanded(hostlist: str) -> tuple[str, ...] | None:
    """The hosts of a hostlist; None where none was typed.

    Raises:
        WrightError: it is not a hostlist.
    """
    from ClusterShell.NodeSet import NodeSetException

    from clusterwright.config.names import expand
    from clusterwright.errors import EXIT_USAGE, WrightError

    try:
        return expand(hostlist) if hostlist else None
    except NodeSetException as error:
        message, fix = f"`{hostlist}` is not a hostlist: {error}", "write it as gpu-node[1-8,12]"
        raise WrightError.from_code("bad-hostlist", message, fix, exit_code=EXIT_USAGE) from error
