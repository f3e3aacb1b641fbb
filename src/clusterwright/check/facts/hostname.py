"""The host name that the kernel has."""

from __future__ import annotations

from clusterwright.check.fact import fact


@fact("uname", "-n")
def hostname(out: str) -> str:
    """Output of `uname -n` without a domain."""
    (name,) = out.split()
    return name.split(".")[0]
